#ifndef TIDINGS_APPLICATIONS_H
#define TIDINGS_APPLICATIONS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * The applications that work stealing is measured with, for programs in C that move tasks as bytes.
 * Link with libtidings_applications_c.a, which has what libtidings_steal_c.a has, -lpthread, -ldl
 * and -lm. Made by cbindgen from crates/applications-ffi: change it there.
 */


/*
 An application. Only pointers to it leave the library.
 */
typedef struct TidingsApplication TidingsApplication;

/*
 Gets a task: its predicted work in nanoseconds, 0 if nobody knows, and its bytes, which stay
 until it returns.
 */
typedef void (*TidingsGive)(void *user, uint64_t work_ns, const void *task, size_t bytes);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 The application of this name, such as `uts:T1`, `fib:30`, `queens:12`, `scf:4x2x2`, `tce:24,8`,
 `homology:400` or `uneven:1000`; null if there is none.

 # Safety
 `name` is null or a text that ends with a zero byte.
 */
struct TidingsApplication *tidings_application_open(const char *name);

/*
 Gives its memory back. Null is allowed.

 # Safety
 `application` is null or from `tidings_application_open`, was not freed, and nobody uses it.
 */
void tidings_application_free(struct TidingsApplication *application);

/*
 Gives the tasks with which process `process` of `processes` begins.

 # Safety
 `application` is from `tidings_application_open` and in use by nobody else; `give` is null or
 may be called with `user`.
 */
void tidings_application_roots(struct TidingsApplication *application,
                               uint32_t process,
                               uint32_t processes,
                               TidingsGive give,
                               void *user);

/*
 Runs a task, and gives what it spawns; false if these bytes are no task.

 # Safety
 As [`tidings_application_roots`]; `task` has `bytes` bytes.
 */
bool tidings_application_run(struct TidingsApplication *application,
                             const void *task,
                             size_t bytes,
                             TidingsGive give,
                             void *user);

/*
 What a task is predicted to take, in nanoseconds, whoever runs it; 0 if nobody knows, or these
 bytes are no task.

 # Safety
 As [`tidings_application_roots`]; `task` has `bytes` bytes.
 */
uint64_t tidings_application_cost(struct TidingsApplication *application,
                                  const void *task,
                                  size_t bytes);

/*
 Writes what this process has found to `words`, if `room` words are enough, and returns how many
 it takes.

 # Safety
 As [`tidings_application_roots`]; `words` is null or has `room` words.
 */
size_t tidings_application_total(struct TidingsApplication *application,
                                 uint64_t *words,
                                 size_t room);

/*
 Adds what another process has found; false if these words are no total.

 # Safety
 As [`tidings_application_roots`]; `words` has `count` words.
 */
bool tidings_application_merge(struct TidingsApplication *application,
                               const uint64_t *words,
                               size_t count);

/*
 Forgets what this process has found.

 # Safety
 As [`tidings_application_roots`].
 */
void tidings_application_clear(struct TidingsApplication *application);

/*
 Writes what was found, in words, to `text` (`room` bytes, 0 at its end, cut if it is longer).
 Returns 1 if it is right, 0 if it is wrong, -1 if that is not known; with `compute`, which may
 take long, it is found out by running all on this thread.

 # Safety
 As [`tidings_application_roots`]; `text` is null or has `room` bytes.
 */
int32_t tidings_application_verdict(struct TidingsApplication *application,
                                    bool compute,
                                    char *text,
                                    size_t room);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TIDINGS_APPLICATIONS_H */
