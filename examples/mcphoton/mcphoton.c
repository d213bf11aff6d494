/*
 * mcphoton: Monte Carlo radiative transfer through a slab, over durable tasks.
 *
 * `run` writes the parameters, submits batches of photons, and collects what they came to; `flow`
 * declares the same as a dataflow, whose tasks also add up; `work`, in any number of processes,
 * does tasks of both; `alone` does all of it without a store. The digest is the same for every
 * number of workers, every order and every death, since photons are drawn by number and counted
 * exactly.
 */

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tidings_tasks.h>

#include "slab.h"

enum {
    PARAMETER_BYTES = 32,
    NAME_BYTES = 160,
    RESULT_BYTES = 8 * SLAB_TALLIES,
    PAYLOAD_BYTES = 16 + NAME_BYTES,
    MAX_BATCHES = 1000000,
    GROUP = 256, /* batches that are submitted together */
    FAN = 8      /* places that a task of the flow joins */
};

static const char QUEUE[] = "mcphoton", FUNCTION[] = "trace", FILL[] = "fill", JOIN[] = "join";

struct options {
    struct slab slab;
    uint64_t photons, batch;
    uint64_t idle_ms, least_ms;
    const char *keys;
};

/* Numbers go as eight bytes each, the lowest first: hosts of all kinds take part. */
static void put(uint8_t *to, uint64_t number) {
    for (int i = 0; i < 8; i++) to[i] = (uint8_t)(number >> 8 * i);
}

static uint64_t got(const uint8_t *from) {
    uint64_t number = 0;
    for (int i = 0; i < 8; i++) number |= (uint64_t)from[i] << 8 * i;
    return number;
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Ends the program if a call was not answered as it should be. */
static void check(TidingsTasksStatus status, const TidingsTasksError *error) {
    if (status == TIDINGS_TASKS_STATUS_OK) return;
    fprintf(stderr, "mcphoton: %s\n", error->text);
    exit(1);
}

static TidingsTasks *opened(const char *keys) {
    TidingsTasksOptions options = {0};
    TidingsTasksError error;
    TidingsTasks *tasks;
    options.name = "mcphoton";
    options.keys = keys;
    check(tidings_tasks_open(&options, &tasks, &error), &error);
    return tasks;
}

/* A worker, the slab of which it did photons last, and how long a batch takes at least. */
struct worker {
    TidingsTasks *tasks;
    char name[NAME_BYTES];
    struct slab slab;
    uint64_t least_ms;
};

/* The moment so many milliseconds from now. */
static struct timespec moment_in(uint64_t ms) {
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    moment.tv_sec += (time_t)(ms / 1000);
    moment.tv_nsec += (long)(ms % 1000) * 1000000;
    if (moment.tv_nsec >= 1000000000) {
        moment.tv_sec += 1;
        moment.tv_nsec -= 1000000000;
    }
    return moment;
}

static void wait_until(struct timespec moment) {
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, NULL) != 0) continue;
}

/* The name of what is simulated: all that a result depends on. */
static void name_of(const struct options *options, char name[NAME_BYTES]) {
    const struct slab *slab = &options->slab;
    snprintf(name, NAME_BYTES,
             "mcphoton %016" PRIx64 " %016" PRIx64 " %u %" PRIu64 " %" PRIu64 " of %" PRIu64,
             bits_of(slab->thickness), bits_of(slab->albedo), (unsigned)slab->diffuse, slab->seed,
             options->batch, options->photons);
}

/* Reads the parameters of this name, unless they are known. */
static int knows(struct worker *worker, const char *name) {
    TidingsTasksOutcome outcome;
    if (strcmp(worker->name, name) == 0) return 1;
    if (tidings_tasks_read(worker->tasks, name, TIDINGS_TASKS_FOREVER, &outcome, NULL) !=
        TIDINGS_TASKS_STATUS_OK)
        return 0;
    int is_whole = outcome.result_bytes == PARAMETER_BYTES;
    if (is_whole) {
        const uint8_t *from = outcome.result;
        worker->slab = (struct slab){double_of(got(from)), double_of(got(from + 8)),
                                     (uint32_t)got(from + 16), got(from + 24)};
        snprintf(worker->name, NAME_BYTES, "%s", name);
    }
    tidings_tasks_outcome_free(&outcome);
    return is_whole;
}

/* Does a batch: the payload has the first photon, their number, and the name of the parameters. */
static int trace(const TidingsTasksClaim *claim, TidingsTasksResult *result, void *context) {
    struct worker *worker = context;
    struct tallies tallies = {{0}};
    uint8_t bytes[RESULT_BYTES];
    char name[NAME_BYTES] = "";
    struct timespec end = moment_in(worker->least_ms);
    if (claim->payload_bytes != PAYLOAD_BYTES) return 1;
    memcpy(name, claim->payload + 16, NAME_BYTES - 1);
    if (!knows(worker, name)) return 2;
    slab_trace(&worker->slab, got(claim->payload), got(claim->payload + 8), &tallies);
    for (int i = 0; i < SLAB_TALLIES; i++) put(bytes + 8 * i, tallies.count[i]);
    wait_until(end);
    return (int)tidings_tasks_result(result, bytes, sizeof bytes, NULL);
}

/* Adds what some batches came to. */
static int add(const TidingsTasksBytes *inputs, size_t count, TidingsTasksResult *result,
               void *context) {
    uint8_t bytes[RESULT_BYTES];
    (void)context;
    for (int i = 0; i < SLAB_TALLIES; i++) {
        uint64_t sum = 0;
        for (size_t input = 0; input < count; input++) {
            if (inputs[input].count != RESULT_BYTES) return 1;
            sum += got(inputs[input].start + 8 * i);
        }
        put(bytes + 8 * i, sum);
    }
    return (int)tidings_tasks_result(result, bytes, sizeof bytes, NULL);
}

/* Reads what is in an instance that a task of the flow has. */
static int instance(const TidingsTasksClaim *claim, size_t number, TidingsTasksBytes *bytes) {
    return tidings_tasks_flow_instance(claim, number, &bytes->start, &bytes->count, NULL) ==
           TIDINGS_TASKS_STATUS_OK;
}

/* Fills a place of the flow: adds to it what becomes of photons. Its arguments are the place, the
   first photon, their number, and the name of the parameters. */
static int fill(const TidingsTasksClaim *claim, TidingsTasksResult *result, void *context) {
    struct worker *worker = context;
    struct tallies tallies = {{0}};
    uint8_t own[RESULT_BYTES];
    TidingsTasksBytes parts[] = {{NULL, 0}, {own, sizeof own}};
    const TidingsTasksField *argument;
    struct timespec end = moment_in(worker->least_ms);
    size_t count;
    if (tidings_tasks_flow_arguments(claim, &argument, &count, NULL) != TIDINGS_TASKS_STATUS_OK ||
        count != 4 || argument[3].kind != TIDINGS_TASKS_TEXT || !instance(claim, 0, &parts[0]))
        return 1;
    if (!knows(worker, (const char *)argument[3].bytes)) return 2;
    slab_trace(&worker->slab, (uint64_t)argument[1].integer, (uint64_t)argument[2].integer,
               &tallies);
    for (int i = 0; i < SLAB_TALLIES; i++) put(own + 8 * i, tallies.count[i]);
    wait_until(end);
    return add(parts, 2, result, NULL);
}

/* Joins places of the flow. */
static int join(const TidingsTasksClaim *claim, TidingsTasksResult *result, void *context) {
    TidingsTasksBytes parts[FAN];
    (void)context;
    for (size_t part = 0; part < FAN; part++)
        if (!instance(claim, part, &parts[part])) return 1;
    return add(parts, FAN, result, NULL);
}

static int work(const struct options *options) {
    struct worker worker = {opened(options->keys), "", {0, 0, 0, 0}, options->least_ms};
    const TidingsTasksFunction functions[] = {
        {FUNCTION, trace, &worker}, {FILL, fill, &worker}, {JOIN, join, &worker}};
    TidingsTasksStatus status;
    TidingsTasksError error;
    uint64_t done = 0;
    do {
        status = tidings_tasks_work(worker.tasks, QUEUE, functions, 3, options->idle_ms, &error);
        done += status == TIDINGS_TASKS_STATUS_OK;
    } while (status == TIDINGS_TASKS_STATUS_OK || status == TIDINGS_TASKS_STATUS_SUPERSEDED);
    if (status != TIDINGS_TASKS_STATUS_TIMEOUT) check(status, &error);
    tidings_tasks_close(worker.tasks);
    printf("%" PRIu64 " batches\n", done);
    return 0;
}

static uint64_t batches(const struct options *options) {
    return (options->photons + options->batch - 1) / options->batch;
}

/* Submits the batches from this one on, as many as go together. Returns how many. */
static uint64_t submit(TidingsTasks *tasks, const struct options *options, const char *name,
                       uint64_t batch) {
    static uint8_t payloads[GROUP][PAYLOAD_BYTES];
    static TidingsTasksSubmission group[GROUP];
    uint64_t count = batches(options) - batch < GROUP ? batches(options) - batch : GROUP;
    TidingsTasksError error;
    for (uint64_t at = 0; at < count; at++) {
        uint64_t first = (batch + at) * options->batch, rest = options->photons - first;
        TidingsTasksSubmission *task = &group[at];
        put(payloads[at], first);
        put(payloads[at] + 8, rest < options->batch ? rest : options->batch);
        memcpy(payloads[at] + 16, name, NAME_BYTES);
        *task = (TidingsTasksSubmission){0};
        check(tidings_tasks_id(name, batch + at, &task->id, &error), &error);
        task->queue = QUEUE;
        task->function = FUNCTION;
        task->payload = payloads[at];
        task->payload_bytes = PAYLOAD_BYTES;
    }
    check(tidings_tasks_submit(tasks, group, count, NULL, &error), &error);
    return count;
}

static void collect(TidingsTasks *tasks, const struct options *options, const char *name,
                    struct tallies *whole) {
    const TidingsTasksCombine combine = {add, NULL};
    TidingsTasksOutcome outcome;
    TidingsTasksError error;
    check(tidings_tasks_collect(tasks, name, batches(options), &combine, TIDINGS_TASKS_FOREVER,
                                &outcome, &error), &error);
    if (outcome.end != TIDINGS_TASKS_END_DONE || outcome.result_bytes != RESULT_BYTES) {
        fprintf(stderr, "mcphoton: %s\n", outcome.failure);
        exit(1);
    }
    for (int i = 0; i < SLAB_TALLIES; i++) whole->count[i] = got(outcome.result + 8 * i);
    tidings_tasks_outcome_free(&outcome);
}

static void print(const struct options *options, const struct tallies *sum) {
    double all = (double)options->photons;
    uint64_t absorbed = 0;
    for (int i = 0; i < SLAB_CELLS; i++) absorbed += sum->count[i];
    printf("transmitted %.6f\n", (double)sum->count[TRANSMITTED] / all);
    printf("reflected   %.6f\n", (double)sum->count[REFLECTED] / all);
    printf("absorbed    %.6f\n", (double)absorbed / all);
    printf("digest      %016" PRIx64 "\n", slab_digest(sum));
}

/* Writes the parameters for all to read, and their name. */
static void publish(TidingsTasks *tasks, const struct options *options, char name[NAME_BYTES]) {
    const struct slab *slab = &options->slab;
    TidingsTasksError error;
    uint8_t parameters[PARAMETER_BYTES];
    name_of(options, name);
    put(parameters, bits_of(slab->thickness));
    put(parameters + 8, bits_of(slab->albedo));
    put(parameters + 16, slab->diffuse);
    put(parameters + 24, slab->seed);
    check(tidings_tasks_write(tasks, name, parameters, sizeof parameters, &error), &error);
}

static int run(const struct options *options) {
    TidingsTasks *tasks = opened(options->keys);
    struct tallies whole;
    char name[NAME_BYTES] = "";
    publish(tasks, options, name);
    for (uint64_t batch = 0; batch < batches(options);)
        batch += submit(tasks, options, name, batch);
    collect(tasks, options, name, &whole);
    tidings_tasks_close(tasks);
    print(options, &whole);
    return 0;
}

/* A flow with the places at which photons are counted, and its tasks. */
struct dataflow {
    TidingsTasksFlow *flow;
    TidingsTasksDependency counts;
    TidingsTasksDeclared fill, join;
};

/* The place of an instance: the first argument and so many times the second. */
static void place_of(const TidingsTasksField *arguments, TidingsTasksField *key, void *context) {
    const int64_t *part = context;
    key[0].integer = arguments[0].integer + *part * arguments[1].integer;
}

static void declare(TidingsTasks *tasks, const char *name, struct dataflow *made) {
    static int64_t parts[FAN];
    const uint32_t kinds[] = {TIDINGS_TASKS_INT, TIDINGS_TASKS_INT, TIDINGS_TASKS_INT,
                              TIDINGS_TASKS_TEXT};
    TidingsTasksError error;
    check(tidings_tasks_flow(tasks, QUEUE, name, &made->flow, &error), &error);
    check(tidings_tasks_dependency_declare(made->flow, "counts", kinds, 1, &made->counts, &error),
          &error);
    check(tidings_tasks_task_declare(made->flow, FILL, kinds, 4, NULL, &made->fill, &error),
          &error);
    check(tidings_tasks_task_declare(made->flow, JOIN, kinds, 2, NULL, &made->join, &error),
          &error);
    check(tidings_tasks_append_inout_dependency(made->flow, made->fill, made->counts, place_of,
                                                &parts[0], &error), &error);
    check(tidings_tasks_append_inout_dependency(made->flow, made->join, made->counts, place_of,
                                                &parts[0], &error), &error);
    for (int64_t part = 1; part < FAN; part++) {
        parts[part] = part;
        check(tidings_tasks_append_migrate_dependency(made->flow, made->join, made->counts,
                                                      place_of, NULL, &parts[part], &error),
              &error);
    }
}

static TidingsTasksField integer(uint64_t value) {
    return (TidingsTasksField){.kind = TIDINGS_TASKS_INT, .integer = (int64_t)value};
}

/* Lets nothing be counted at a place yet. */
static void empty(const struct dataflow *flow, uint64_t place) {
    static const uint8_t zeros[RESULT_BYTES];
    const TidingsTasksField key = integer(place);
    TidingsTasksError error;
    check(tidings_tasks_flow_put(flow->flow, flow->counts, &key, 1, zeros, sizeof zeros, &error),
          &error);
}

/* Lets each batch fill a place. */
static void fill_all(const struct dataflow *flow, const struct options *options, const char *name) {
    TidingsTasksError error;
    for (uint64_t place = 0; place < batches(options); place++) {
        uint64_t first = place * options->batch, rest = options->photons - first;
        const TidingsTasksField arguments[] = {
            integer(place), integer(first), integer(rest < options->batch ? rest : options->batch),
            {.kind = TIDINGS_TASKS_TEXT, .bytes = (const uint8_t *)name}};
        empty(flow, place);
        check(tidings_tasks_flow_submit(flow->flow, flow->fill, arguments, 4, NULL, &error),
              &error);
    }
}

/* Joins places, and what was joined, until all is at place 0. */
static void join_all(const struct dataflow *flow, uint64_t places) {
    TidingsTasksError error;
    for (uint64_t stride = 1; stride < places; stride *= FAN)
        for (uint64_t place = 0; place + stride < places; place += FAN * stride) {
            const TidingsTasksField arguments[] = {integer(place), integer(stride)};
            for (uint64_t part = 1; part < FAN; part++)
                if (place + part * stride >= places) empty(flow, place + part * stride);
            check(tidings_tasks_flow_submit(flow->flow, flow->join, arguments, 2, NULL, &error),
                  &error);
        }
}

/* The same as `run`, but what the batches came to is added by tasks. */
static int run_flow(const struct options *options) {
    TidingsTasks *tasks = opened(options->keys);
    const TidingsTasksField key = integer(0);
    TidingsTasksError error;
    struct dataflow flow;
    struct tallies whole;
    const uint8_t *bytes;
    char name[NAME_BYTES] = "";
    size_t count;
    publish(tasks, options, name);
    declare(tasks, name, &flow);
    fill_all(&flow, options, name);
    join_all(&flow, batches(options));
    check(tidings_tasks_flow_get(flow.flow, flow.counts, &key, 1, TIDINGS_TASKS_FOREVER, &bytes,
                                 &count, &error), &error);
    if (count != RESULT_BYTES) return 1;
    for (int i = 0; i < SLAB_TALLIES; i++) whole.count[i] = got(bytes + 8 * i);
    tidings_tasks_flow_free(flow.flow);
    tidings_tasks_close(tasks);
    print(options, &whole);
    return 0;
}

static int alone(const struct options *options) {
    struct tallies sum = {{0}};
    slab_trace(&options->slab, 0, options->photons, &sum);
    print(options, &sum);
    return 0;
}

static int usage(void) {
    fputs("usage: mcphoton run|flow|alone [-t THICKNESS] [-a ALBEDO] [-d] [-s SEED] [-n PHOTONS]"
          " [-b PHOTONS_A_BATCH]\n       mcphoton work [-i IDLE_MS] [-w LEAST_MS_A_BATCH]\n"
          "The store is that of TIDINGS_STORE; -k FILE names the cluster's keys.\n", stderr);
    return 2;
}

static int is_sound(const struct options *options) {
    const struct slab *slab = &options->slab;
    return slab->thickness > 0 && slab->thickness <= 1000 && slab->albedo >= 0 &&
           slab->albedo <= 1 && options->photons > 0 && options->batch > 0 &&
           batches(options) <= MAX_BATCHES;
}

int main(int count, char **words) {
    struct options options = {{1.0, 0.0, 0, 1}, 1000000, 50000, 10000, 0, NULL};
    int option;
    if (count < 2) return usage();
    while ((option = getopt(count - 1, words + 1, "t:a:ds:n:b:i:w:k:")) != -1) {
        switch (option) {
        case 't': options.slab.thickness = atof(optarg); break;
        case 'a': options.slab.albedo = atof(optarg); break;
        case 'd': options.slab.diffuse = 1; break;
        case 's': options.slab.seed = strtoull(optarg, NULL, 10); break;
        case 'n': options.photons = strtoull(optarg, NULL, 10); break;
        case 'b': options.batch = strtoull(optarg, NULL, 10); break;
        case 'i': options.idle_ms = strtoull(optarg, NULL, 10); break;
        case 'w': options.least_ms = strtoull(optarg, NULL, 10); break;
        case 'k': options.keys = optarg; break;
        default: return usage();
        }
    }
    if (optind != count - 1 || !is_sound(&options)) return usage();
    if (strcmp(words[1], "run") == 0) return run(&options);
    if (strcmp(words[1], "work") == 0) return work(&options);
    if (strcmp(words[1], "flow") == 0) return run_flow(&options);
    if (strcmp(words[1], "alone") == 0) return alone(&options);
    return usage();
}
