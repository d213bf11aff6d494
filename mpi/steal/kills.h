/* Ranks that kill themselves, as programs that show what a death does are told by --kill. */
#ifndef TIDINGS_STEAL_KILLS_H
#define TIDINGS_STEAL_KILLS_H

#include <stdbool.h>

typedef struct Kill {
    long ran, last; /* tasks that this rank has run, and after which it kills itself; 0: never */
    bool is_asked;  /* of any rank */
} Kill;

/* Takes a whole number from `least` to `most`; false if the text is none. */
bool kills_number(const char *text, long least, long most, long *value);

/* Takes RANK,TASKS; false if there is no such rank, no task, or more of them than `most`. */
bool kills_take(Kill *kill, const char *text, int rank, int ranks, long most);

/* One more task runs here: it may be the last. */
void kills_count(Kill *kill);

#endif
