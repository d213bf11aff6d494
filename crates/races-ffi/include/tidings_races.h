#ifndef TIDINGS_RACES_H
#define TIDINGS_RACES_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * A detector of data races in programs in C that fork and join, and accesses that C declares to one
 * in Rust. Link with libtidings_races_c.a, -lpthread, -ldl and -lm. Made by cbindgen from
 * crates/races-ffi: change it there.
 */

/* So many bytes from a place on are read, changed, or changed so that the order does not matter. */
#define TIDINGS_READS(place, bytes) \
    tidings_races_access(TIDINGS_RACES_ACCESS_READ, (place), (bytes), __FILE__, __LINE__)
#define TIDINGS_WRITES(place, bytes) \
    tidings_races_access(TIDINGS_RACES_ACCESS_WRITE, (place), (bytes), __FILE__, __LINE__)
#define TIDINGS_UPDATES(place, bytes) \
    tidings_races_access(TIDINGS_RACES_ACCESS_UPDATE, (place), (bytes), __FILE__, __LINE__)

/* Calls both functions, each with its argument, maybe at the same time; returns when both have. */
#define TIDINGS_JOIN(first, of_first, second, of_second) \
    tidings_races_join((first), (of_first), (second), (of_second), __FILE__, __LINE__)


/*
 What is done to memory.
 */
typedef enum TidingsRacesAccess {
    /*
     It stays as it is.
     */
    TIDINGS_RACES_ACCESS_READ = 0,
    /*
     It changes so that the order of several changes does not matter: a sum, a maximum.
     */
    TIDINGS_RACES_ACCESS_UPDATE = 1,
    /*
     It changes.
     */
    TIDINGS_RACES_ACCESS_WRITE = 2,
} TidingsRacesAccess;

/*
 Work in C: called with its argument, which may be at another thread.
 */
typedef void (*TidingsRacesWork)(void *argument);

/*
 Called with a race in words, some lines without one at the end. The text is gone when it
 returns.
 */
typedef void (*TidingsRacesSay)(void *argument, const char *race);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Declares an access to so many bytes from a place on, where `access` is a `TidingsRacesAccess`;
 any other number counts as a change. Outside of a checked run it does nothing. The macros
 `TIDINGS_READS`, `TIDINGS_WRITES` and `TIDINGS_UPDATES` say file and line.

 # Safety
 `file` is null, or ends with a zero byte and stays as it is while the program runs. The place is
 not looked at.
 */
void tidings_races_access(uint32_t access,
                          const void *place,
                          size_t bytes,
                          const char *file,
                          uint32_t line);

/*
 Forgets what was declared of so many bytes, which are about to be given back: what comes to be
 there after them is another place.
 */
void tidings_races_forget(const void *place, size_t bytes);

/*
 Calls both, maybe at the same time, and returns when both have. The macro `TIDINGS_JOIN` says
 file and line. Outside of a checked run it forks on a pool with a thread for each processor.

 # Safety
 Each work may be called with its argument, by any thread; `file` is null, or ends with a zero
 byte and stays as it is while the program runs.
 */
void tidings_races_join(TidingsRacesWork first,
                        void *of_first,
                        TidingsRacesWork second,
                        void *of_second,
                        const char *file,
                        uint32_t line);

/*
 Runs a program on so many threads, and says which races it has, in whatever order its tasks
 might run: `say` is called with each of the first hundred. It may be null.

 Returns how many places have a race; -1 if no threads could be started, and nothing ran.

 # Safety
 `program` may be called with its argument, by any thread, and `say` with its own.
 */
int64_t tidings_races_check(uint32_t threads,
                            TidingsRacesWork program,
                            void *of_program,
                            TidingsRacesSay say,
                            void *of_say);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TIDINGS_RACES_H */
