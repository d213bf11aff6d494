/*
 * Philox4x32-10: random numbers by counter. The same key and counter give the same four words,
 * whoever asks, when and where; so what a photon does depends on its number alone.
 *
 * Source: Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3. SC'11,
 * doi:10.1145/2063384.2063405.
 */

#ifndef PHILOX_H
#define PHILOX_H

#include <stdint.h>

static inline void philox(uint32_t word[4], uint32_t key0, uint32_t key1) {
    for (int round = 0; round < 10; round++) {
        uint64_t product0 = UINT64_C(0xd2511f53) * word[0];
        uint64_t product1 = UINT64_C(0xcd9e8d57) * word[2];
        uint32_t next0 = (uint32_t)(product1 >> 32) ^ word[1] ^ key0;
        uint32_t next2 = (uint32_t)(product0 >> 32) ^ word[3] ^ key1;
        word[0] = next0;
        word[1] = (uint32_t)product1;
        word[2] = next2;
        word[3] = (uint32_t)product0;
        key0 += UINT32_C(0x9e3779b9);
        key1 += UINT32_C(0xbb67ae85);
    }
}

#endif
