#include "slab.h"

#include <math.h>

#include "philox.h"

static const double LN2 = 0.6931471805599453;

/* (word + 1/2) / 2^32, exactly. */
static double uniform(uint32_t word) {
    return ((double)word + 0.5) * (1.0 / 4294967296.0);
}

double slab_path(uint32_t word) {
    /* u = m / 2^halvings with m in [1/2, 1), both exactly; ln m by the series of atanh. */
    double m = uniform(word), halvings = 0.0;
    while (m < 0.5) {
        m *= 2.0;
        halvings += 1.0;
    }
    double s = (1.0 - m) / (1.0 + m), square = s * s, sum = 0.0;
    for (int odd = 35; odd > 0; odd -= 2) sum = sum * square + 1.0 / odd;
    return halvings * LN2 + 2.0 * s * sum;
}

/* Where photon `number` ends. */
static int ending(const struct slab *slab, uint64_t number) {
    double depth = 0.0, direction = 1.0;
    for (uint32_t collision = 0;; collision++) {
        uint32_t word[4] = {(uint32_t)number, (uint32_t)(number >> 32), collision, 0};
        philox(word, (uint32_t)slab->seed, (uint32_t)(slab->seed >> 32));
        if (collision > 0)
            direction = 2.0 * uniform(word[0]) - 1.0;
        else if (slab->diffuse)
            direction = sqrt(uniform(word[0]));
        depth += direction * slab_path(word[1]);
        if (depth < 0.0) return REFLECTED;
        if (depth >= slab->thickness) return TRANSMITTED;
        if (uniform(word[2]) >= slab->albedo) {
            int cell = (int)(depth / slab->thickness * SLAB_CELLS);
            return cell < SLAB_CELLS ? cell : SLAB_CELLS - 1;
        }
    }
}

void slab_trace(const struct slab *slab, uint64_t first, uint64_t photons,
                struct tallies *tallies) {
    for (uint64_t i = 0; i < photons; i++) tallies->count[ending(slab, first + i)]++;
}

uint64_t slab_digest(const struct tallies *tallies) {
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < SLAB_TALLIES; i++) {
        for (int shift = 0; shift < 64; shift += 8) {
            digest ^= tallies->count[i] >> shift & 0xff;
            digest *= UINT64_C(0x100000001b3);
        }
    }
    return digest;
}
