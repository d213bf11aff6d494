/*
 * What does a steal take, beside a message of the same bytes and its answer? Rank 0 has a list of
 * tasks, of which rank 1 steals half at a time; in the same repetition both exchange messages of
 * the bytes of a request and of an answer. A steal is timed from when the thief looks for a victim
 * until the tasks are in its queue. Both ranks begin with a task that waits, so that the victim is
 * at its tasks when it is asked. Printed are medians of all steals and of all exchanges, and the
 * median and the quartiles of the repetitions' ratios of such medians: of steals by messages, and
 * of those from a window (shelf.h), all three in each repetition.
 * No repetition begins after SECONDS, 60 if they are not said: where others use the processors each
 * message waits for its turn of one, and all may take a hundred times as long.
 * usage: mpirun -n 2 tidings-mpi-steal-rate [BYTES OF A TASK] [REPETITIONS] [NS OF A TASK]
 *        [SECONDS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"
#include "tidings_steal_mpi.h"

/* Tasks of a phase, of which a steal takes half, and phases of a repetition. */
#define TASKS 128
#define PHASES 100
#define MOST 1000
#define ROUNDS 1000

/* What a request has, an answer beside its tasks, and a task beside its state. */
#define REQUEST_BYTES 21
#define ANSWER_BYTES 20
#define FRAME_BYTES 24

/* How long the task waits with which each rank begins. */
static const double WAITS_S[] = { 20e-6, 30e-6 };

/* How tasks are stolen: by messages, or one-sided. */
enum { MESSAGES, WINDOW, FORMS };

typedef struct Rate {
    TidingsSteal *steal[FORMS];
    uint16_t wait, work;
    int rank, repetitions;
    size_t bytes;
    double task_s, limit_s;
} Rate;

static void spend(double seconds)
{
    double until_s = MPI_Wtime() + seconds;
    while (seconds > 0 && MPI_Wtime() < until_s)
        ;
}

static void wait_before(TidingsStealTasks *tasks, void *user)
{
    (void)tasks;
    spend(WAITS_S[((Rate *)user)->rank]);
}

static void work(TidingsStealTasks *tasks, void *user)
{
    (void)tasks;
    spend(((Rate *)user)->task_s);
}

/* A phase, and how long a steal took and how many tasks it brought, as rank 1 sees it. */
static void steal(Rate *rate, int form, Sample *steals, uint64_t *tasks, uint64_t *answers)
{
    static uint8_t state[4096];
    TidingsSteal *by = rate->steal[form];
    TidingsStealPhase phase;
    TidingsStealError error;
    for (int task = 0; !rate->rank && task < TASKS; task++)
        tidings_steal_add(by, rate->work, 0, state, rate->bytes);
    tidings_steal_add(by, rate->wait, 0, NULL, 0);
    if (tidings_steal_phase(by, "steals", &phase, &error)) MPI_Abort(MPI_COMM_WORLD, 1);
    if (!phase.counters.steals) return;
    *tasks += phase.counters.tasks_in;
    *answers += phase.counters.steals;
    steals->all[steals->count++] = phase.stealing_seconds / (double)phase.counters.steals;
}

/* A repetition's steals; the mean of the bytes of an answer. */
static double steals(Rate *rate, int form, Sample *steals)
{
    uint64_t tasks = 0, answers = 0;
    for (int phase = 0; phase < PHASES; phase++)
        steal(rate, form, steals, &tasks, &answers);
    double mean = answers ? (double)tasks / (double)answers : 0;
    double bytes = ANSWER_BYTES + mean * (double)(FRAME_BYTES + rate->bytes);
    MPI_Bcast(&bytes, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    return bytes;
}

/* What all repetitions gave: of each form, and of messages and answers of the same bytes. */
typedef struct Measured {
    Sample steals[FORMS], exchanges;
    double ratios[FORMS][MOST], of_forms[MOST], bytes[FORMS][MOST];
} Measured;

static double repeat(Rate *rate, int form, Measured *all, int at)
{
    Sample steals_now = { all->steals[form].all + all->steals[form].count, 0 };
    Sample exchanges_now = { all->exchanges.all + all->exchanges.count, 0 };
    all->bytes[form][at] = steals(rate, form, &steals_now);
    exchange(REQUEST_BYTES, (int)all->bytes[form][at], ROUNDS, &exchanges_now);
    double median_s = quartile(steals_now.all, steals_now.count, 2);
    all->ratios[form][at] = median_s / quartile(exchanges_now.all, exchanges_now.count, 2);
    all->steals[form].count += steals_now.count;
    all->exchanges.count += exchanges_now.count;
    return median_s;
}

static void print_ratio(const char *name, double *ratios, int count)
{
    printf(",\"%s\":%.3f,\"%s_quartiles\":[%.3f,%.3f]", name, quartile(ratios, count, 2), name,
           quartile(ratios, count, 1), quartile(ratios, count, 3));
}

/* Whether another repetition begins, of which there is one in any case: rank 1 says it. */
static bool goes_on(const Rate *rate, double began_s, int at)
{
    int goes = at < rate->repetitions && (!at || MPI_Wtime() - began_s < rate->limit_s);
    MPI_Bcast(&goes, 1, MPI_INT, 1, MPI_COMM_WORLD);
    return goes;
}

static void measure(Rate *rate)
{
    static double stolen_s[FORMS][MOST * PHASES], exchanged_s[FORMS * MOST * ROUNDS];
    static Measured all;
    int count = 0;
    all.exchanges = (Sample){ exchanged_s, 0 };
    for (int form = 0; form < FORMS; form++)
        all.steals[form] = (Sample){ stolen_s[form], 0 };
    for (double began_s = MPI_Wtime(); goes_on(rate, began_s, count); count++) {
        double by_messages_s = repeat(rate, MESSAGES, &all, count);
        all.of_forms[count] = repeat(rate, WINDOW, &all, count) / by_messages_s;
    }
    if (rate->rank != 1) return;
    printf("{\"task_bytes\":%zu,\"task_ns\":%.0f,\"answer_bytes\":%.0f,\"steals\":%d,"
           "\"steal_us\":%.3f,\"one_sided_us\":%.3f,\"ping_pong_us\":%.3f",
           rate->bytes, 1e9 * rate->task_s, quartile(all.bytes[MESSAGES], count, 2),
           all.steals[MESSAGES].count,
           1e6 * quartile(stolen_s[MESSAGES], all.steals[MESSAGES].count, 2),
           1e6 * quartile(stolen_s[WINDOW], all.steals[WINDOW].count, 2),
           1e6 * quartile(exchanged_s, all.exchanges.count, 2));
    print_ratio("ratio", all.ratios[MESSAGES], count);
    print_ratio("one_sided_ratio", all.ratios[WINDOW], count);
    print_ratio("one_sided_to_messages", all.of_forms, count);
    printf(",\"repetitions\":%d}\n", count);
}

int main(int count, char **words)
{
    Rate rate = { .repetitions = 31, .limit_s = 60 };
    TidingsStealError error;
    int provided, ranks;
    MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rate.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (count > 1) rate.bytes = (size_t)atoi(words[1]);
    if (count > 2) rate.repetitions = atoi(words[2]);
    if (count > 3) rate.task_s = 1e-9 * atoi(words[3]);
    if (count > 4) rate.limit_s = atoi(words[4]);
    if (ranks != 2 || rate.bytes > 4096 || rate.repetitions < 1 || rate.repetitions > MOST) {
        if (!rate.rank)
            fprintf(stderr,
                    "usage: mpirun -n 2 tidings-mpi-steal-rate [BYTES] [N] [NS] [SECONDS]\n");
        MPI_Finalize();
        return 2;
    }
    for (int form = 0; form < FORMS; form++) {
        TidingsStealOptions options = { .slot_bytes = 4096, .one_sided = form == WINDOW };
        if (tidings_steal_open(MPI_COMM_WORLD, &options, &rate.steal[form], &error)) return 1;
        tidings_steal_function(rate.steal[form], wait_before, &rate, &rate.wait);
        tidings_steal_function(rate.steal[form], work, &rate, &rate.work);
    }
    measure(&rate);
    for (int form = 0; form < FORMS; form++)
        tidings_steal_close(rate.steal[form]);
    MPI_Finalize();
    return 0;
}
