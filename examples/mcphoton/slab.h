/*
 * Photons in a slab that absorbs and scatters isotropically: what becomes of each of them.
 *
 * All numbers are exact to the bit on every machine: additions, products, quotients and roots as
 * IEEE 754 rounds them, a logarithm made of these, and counts. Compile with -ffp-contract=off.
 */

#ifndef SLAB_H
#define SLAB_H

#include <stdint.h>

enum { SLAB_CELLS = 16, SLAB_TALLIES = SLAB_CELLS + 2 };

/* What is simulated. */
struct slab {
    double thickness;  /* optical thickness, above 0 */
    double albedo;     /* the share of collisions that scatter, 0 to 1 */
    uint32_t diffuse;  /* 0: photons come in straight; 1: from all directions alike */
    uint64_t seed;
};

/* How many photons ended where: absorbed by each cell, from the front to the back; reflected;
   transmitted. */
struct tallies {
    uint64_t count[SLAB_TALLIES];
};

enum { REFLECTED = SLAB_CELLS, TRANSMITTED = SLAB_CELLS + 1 };

/* Adds what becomes of the photons from number `first` on. */
void slab_trace(const struct slab *slab, uint64_t first, uint64_t photons, struct tallies *tallies);

/* One number for all counts (FNV-1a, 64 bits, over each count with its lowest byte first). */
uint64_t slab_digest(const struct tallies *tallies);

/* -ln(u) for u = (word + 1/2) / 2^32: a free path in optical depth. */
double slab_path(uint32_t word);

#endif
