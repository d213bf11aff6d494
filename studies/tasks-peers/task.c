/*
 * The tasks of calls.py as a process, for systems whose tasks are commands.
 *
 *     task nothing
 *     task busy
 *     task line FILE SECONDS [NUMBER]
 *
 * Without a number it takes that of HyperQueue's environment.
 */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const long long BUSY_NS = 1000000;

static long long now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int write_line(int file, const char *number, const char *what)
{
    char line[128];
    int length = snprintf(line, sizeof line, "%s %s %lld %ld\n", number, what,
                          now_ns(CLOCK_REALTIME), (long)getpid());
    return write(file, line, (size_t)length) == length;
}

static int line(const char *path, double seconds, const char *number)
{
    struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0644);
    if (file < 0 || !write_line(file, number, "begin"))
        return 1;
    nanosleep(&pause, NULL);
    return !write_line(file, number, "end");
}

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "";
    if (strcmp(what, "busy") == 0) {
        long long until = now_ns(CLOCK_PROCESS_CPUTIME_ID) + BUSY_NS;
        while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < until)
            ;
        return 0;
    }
    const char *number = count > 4 ? words[4] : getenv("HQ_TASK_ID");
    if (strcmp(what, "line") == 0 && count > 3 && number)
        return line(words[2], atof(words[3]), number);
    return strcmp(what, "nothing") == 0 ? 0 : 2;
}
