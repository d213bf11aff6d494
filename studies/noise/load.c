/*
 * A hostile load: programs that want every core, the disk, the network and the kernel.
 *
 * usage: load FOLDER
 *
 * For each core that may be used: two loops, one that forks, one that maps and unmaps memory, one
 * that sends datagrams to itself over loopback (soft interrupts) and one that writes to FOLDER and
 * syncs (interrupts of the disk). All are ordinary tasks and end with this program, on SIGTERM.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHUNK = 1 << 20, DATAGRAM = 512 };

static void spin(const char *folder) {
    (void)folder;
    for (volatile unsigned long round = 0;; round++) {
    }
}

static void fork_on(const char *folder) {
    (void)folder;
    for (;;) {
        pid_t child = fork();
        if (child == 0) {
            _exit(0);
        }
        if (child > 0) {
            waitpid(child, NULL, 0);
        }
    }
}

static void map_on(const char *folder) {
    (void)folder;
    for (;;) {
        int access = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
        char *memory = mmap(NULL, CHUNK, access, kind, -1, 0);
        if (memory != MAP_FAILED) {
            memset(memory, 1, CHUNK);
            munmap(memory, CHUNK);
        }
    }
}

static void send_on(const char *folder) {
    (void)folder;
    char bytes[DATAGRAM] = {0};
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof own;
    int socket_in = socket(AF_INET, SOCK_DGRAM, 0), socket_out = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(socket_in, (struct sockaddr *)&own, sizeof own) ||
        getsockname(socket_in, (struct sockaddr *)&own, &length)) {
        perror("load: a socket");
        _exit(1);
    }
    for (;;) {
        sendto(socket_out, bytes, sizeof bytes, 0, (struct sockaddr *)&own, sizeof own);
        recv(socket_in, bytes, sizeof bytes, MSG_DONTWAIT);
    }
}

static void write_on(const char *folder) {
    static char bytes[CHUNK];
    int file = open(folder, O_TMPFILE | O_WRONLY, 0600);
    if (file < 0) {
        perror(folder);
        _exit(1);
    }
    for (;;) {
        if (pwrite(file, bytes, sizeof bytes, 0) < 0 || fsync(file)) {
            perror(folder);
            _exit(1);
        }
    }
}

int main(int count, char **words) {
    static void (*const kinds[])(const char *) = {spin, spin, fork_on, map_on, send_on, write_on};
    if (count != 2) {
        fputs("usage: load FOLDER\n", stderr);
        return 2;
    }
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed)) {
        perror("load");
        return 1;
    }
    pid_t own = getpid();
    for (int core = 0; core < CPU_COUNT(&allowed); core++) {
        for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
            pid_t child = fork();
            if (child < 0) {
                perror("load");
                return 1;
            }
            if (child == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (getppid() == own) {
                    kinds[kind](words[1]);
                }
                _exit(0);
            }
        }
    }
    puts("ready");
    fflush(stdout);
    for (;;) {
        pause();
    }
}
