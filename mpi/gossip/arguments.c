/* See arguments.h. */
#include "arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../machine/long_options.h"

const char ARGUMENTS_USAGE[] =
    "  --interval MS      the unit of time, 0.1 to 3600000 (default 256)\n"
    "  --window ENTRIES   entries sent in a unit, or a share such as 20% (default 20%)\n"
    "  --entry BYTES      bytes of an entry's payload, 0 to 1024 (default 64)\n"
    "  --nodes N          nodes of the cluster; if more than ranks, the last simulates the rest\n"
    "  --strategy NAME    uniform, spread, push-pull, staggered or grid (default uniform)\n"
    "  --busy             look for messages without pause, as in the paper; else sleep between "
    "looks\n"
    "  --slots N          messages in flight before they are dropped (default 64)\n"
    "  --warmup S         seconds before counting begins (default 60 units)\n"
    "  --seconds S        seconds to count (default 20 units)\n"
    "  --seed N           what all chance is drawn from (default 1)\n"
    "  --help             this text\n";

static const char *const STRATEGIES[] = { "uniform", "spread", "push-pull", "staggered", "grid" };
#define STRATEGY_COUNT (sizeof STRATEGIES / sizeof *STRATEGIES)

static bool number(const char *text, double least, double most, double *value)
{
    char *rest;
    double read = strtod(text, &rest);
    if (rest == text || *rest != 0 || !(read >= least && read <= most))
        return false;
    *value = read;
    return true;
}

static bool whole(const char *text, double least, double most, double *value)
{
    return number(text, least, most, value) && *value == (double)(uint64_t)*value;
}

static bool window(Arguments *arguments, const char *text)
{
    size_t length = strlen(text);
    char share[32];
    arguments->window_is_share = length > 0 && text[length - 1] == '%';
    if (!arguments->window_is_share)
        return whole(text, 1, 1 << 20, &arguments->window);
    if (length > sizeof share)
        return false;
    memcpy(share, text, length - 1);
    share[length - 1] = 0;
    return number(share, 1e-9, 100, &arguments->window);
}

static bool strategy(Arguments *arguments, const char *name)
{
    for (uint32_t at = 0; at < STRATEGY_COUNT; at++)
        if (strcmp(name, STRATEGIES[at]) == 0) {
            arguments->options.strategy = at; /* the numbers of TidingsStrategy */
            return true;
        }
    return false;
}

/* Takes one option; false if its value cannot be. */
static bool option(void *into, int letter, const char *text)
{
    Arguments *arguments = into;
    GossipOptions *options = &arguments->options;
    double value = 0;
    bool fits = true;
    switch (letter) {
    case 'i': return number(text, 0.1, 3.6e6, &arguments->interval_ms);
    case 'w': return window(arguments, text);
    case 'e':
        fits = whole(text, 0, TIDINGS_MAX_PAYLOAD_BYTES, &value);
        options->payload_bytes = (uint16_t)value;
        return fits;
    case 'o':
        fits = whole(text, 2, 1 << 20, &value);
        options->nodes = (uint32_t)value;
        return fits;
    case 's': return strategy(arguments, text);
    case 'b': options->polite = false; return true;
    case 'n':
        fits = whole(text, 1, 65536, &value);
        options->slots = (int)value;
        return fits;
    case 'u': return number(text, 0, 1e6, &options->warmup_s);
    case 'c': return number(text, 1e-3, 1e6, &options->seconds);
    case 'd':
        fits = whole(text, 0, 9e15, &value);
        options->seed = (uint64_t)value;
        return fits;
    default: arguments->help = true; return true;
    }
}

Arguments arguments_read(int count, char **words)
{
    static const struct option NAMES[] = {
        { "interval", required_argument, NULL, 'i' }, { "window", required_argument, NULL, 'w' },
        { "entry", required_argument, NULL, 'e' },    { "nodes", required_argument, NULL, 'o' },
        { "strategy", required_argument, NULL, 's' },
        { "busy", no_argument, NULL, 'b' },           { "slots", required_argument, NULL, 'n' },
        { "warmup", required_argument, NULL, 'u' },   { "seconds", required_argument, NULL, 'c' },
        { "seed", required_argument, NULL, 'd' },     { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    Arguments arguments = {
        .options = { .payload_bytes = 64, .polite = true, .slots = 64, .seed = 1,
                     .warmup_s = -1, .seconds = -1 },
        .interval_ms = 256, .window = 20, .window_is_share = true,
    };
    long_options_read(count, words, NAMES, option, &arguments, arguments.wrong,
                      sizeof arguments.wrong);
    return arguments;
}

void arguments_fit(Arguments *arguments, int ranks)
{
    const GossipOptions *options = &arguments->options;
    const char *why = NULL;
    if (ranks < 2)
        why = "gossip takes two ranks or more: start it with mpirun -n RANKS";
    else if (options->nodes && options->nodes < (uint32_t)ranks)
        why = "--nodes are fewer than there are ranks";
    else if (options->nodes > (uint32_t)ranks && options->strategy > TIDINGS_STRATEGY_SPREAD)
        why = "--nodes beyond the ranks answer nothing: --strategy must be uniform or spread";
    if (why && !arguments->wrong[0])
        snprintf(arguments->wrong, sizeof arguments->wrong, "%s", why);
}

GossipOptions arguments_options(const Arguments *arguments, int ranks)
{
    GossipOptions options = arguments->options;
    double unit_s = arguments->interval_ms / 1e3, entries = arguments->window;
    if (!options.nodes)
        options.nodes = (uint32_t)ranks;
    if (arguments->window_is_share)
        entries = (double)options.nodes * entries / 100 + 1e-9;
    options.interval_us = (uint64_t)(arguments->interval_ms * 1e3 + 0.5);
    options.window_entries = entries < 1 ? 1 : (uint32_t)entries;
    if (options.warmup_s < 0)
        options.warmup_s = 60 * unit_s;
    if (options.seconds < 0)
        options.seconds = 20 * unit_s;
    return options;
}

const char *arguments_strategy(uint32_t strategy)
{
    return strategy < STRATEGY_COUNT ? STRATEGIES[strategy] : "unknown";
}
