/* Durations, and what two ranks need to exchange messages: what programs that time steals share. */
#ifndef TIDINGS_STEAL_SAMPLES_H
#define TIDINGS_STEAL_SAMPLES_H

/* Durations in seconds. */
typedef struct Sample {
    double *all;
    int count;
} Sample;

/* What so many quarters of the values are below; 0 if there are none. Orders them. */
double quartile(double *values, int count, int quarter);

/* Adds how long each of some messages of rank 1 took with its answer, by MPI_Send and MPI_Recv. */
void exchange(int request_bytes, int answer_bytes, int rounds, Sample *exchanges);

#endif
