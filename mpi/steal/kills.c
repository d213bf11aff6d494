/* See kills.h. */
#include "kills.h"

#include <signal.h>
#include <stdlib.h>

bool kills_number(const char *text, long least, long most, long *value)
{
    char *end;
    *value = strtol(text, &end, 10);
    return *text && !*end && *value >= least && *value <= most;
}

bool kills_take(Kill *kill, const char *text, int rank, int ranks, long most)
{
    char *end;
    long tasks, victim = strtol(text, &end, 10);
    if (end == text || *end != ',' || !kills_number(end + 1, 1, most, &tasks)) return false;
    kill->is_asked = true;
    if (victim == rank) kill->last = tasks;
    return victim >= 0 && victim < ranks;
}

void kills_count(Kill *kill)
{
    if (++kill->ran == kill->last) raise(SIGKILL);
}
