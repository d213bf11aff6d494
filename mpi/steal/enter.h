/*
 * Ranks enter a phase together, and leave it together where deaths are survived. While a rank waits
 * it takes in messages: if who should have told another that a phase is over has died, one that
 * knows has to.
 */
#ifndef TIDINGS_STEAL_ENTER_H
#define TIDINGS_STEAL_ENTER_H

#include "mail.h"

typedef struct Entering {
    const Mail *mail;
    uint32_t enter_ms;         /* for others that do not enter */
    void (*meanwhile)(void *); /* takes in messages */
    void *user;
} Entering;

/* Waits until all ranks, those that live where deaths are survived, have entered a phase with the
 * same numbers. 0, or what tidings_steal_mpi.h calls TIDINGS_STEAL_MPI, _ALONE or _DIFFERENT. */
int enter_phase(const Entering *entering, uint64_t hash, uint32_t count);

/* Where deaths are survived, waits until all that live know that the phase is over; whether all say
 * the same of it. */
bool leave_phase(const Entering *entering, uint16_t said);

/* A hash of a phase's name, below 2^62. */
uint64_t tidings_steal_hash(const char *name);

#endif
