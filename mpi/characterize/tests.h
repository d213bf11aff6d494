/*
 * The tests, each in a file of its name. Each is collective over WORLD, writes rows, and reports a
 * part that cannot be measured here with the reason.
 */
#ifndef TIDINGS_CHARACTERIZE_TESTS_H
#define TIDINGS_CHARACTERIZE_TESTS_H

#include "bench.h"

void test_pair(Bench *bench);        /* latency and bandwidth of two processes */
void test_cores(Bench *bench);       /* the same inside a node, core by core */
void test_hops(Bench *bench);        /* latency and bandwidth against hops */
void test_through(Bench *bench);     /* flow-through traffic against local flow */
void test_overlap(Bench *bench);     /* two flows over one link */
void test_streams(Bench *bench);     /* several pairs between two nodes */
void test_hotspot(Bench *bench);     /* one master, many workers */
void test_fans(Bench *bench);        /* one rank and its neighbours */
void test_collectives(Bench *bench); /* on several communicators */
void test_parallel(Bench *bench);    /* on several communicators at once */
void test_halo(Bench *bench);        /* the exchange of an ocean model, under many orders */

#endif
