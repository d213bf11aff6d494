/*
 * Prints, for a platform file, how many hosts it has, the latency of the farthest two in
 * microseconds, and the least bandwidth of a route in GB/s, as SimGrid sees them.
 */
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <stdio.h>

int main(int count, char **words)
{
    simgrid_init(&count, words);
    simgrid_load_platform(words[1]);
    size_t hosts = sg_host_count();
    sg_host_t *host = sg_host_list();
    double farthest_s = 0, least = 1e30;
    for (size_t from = 0; from < hosts; from++)
        for (size_t to = 0; to < hosts; to++) {
            if (from == to)
                continue;
            double latency_s = sg_host_get_route_latency(host[from], host[to]);
            double bandwidth = sg_host_get_route_bandwidth(host[from], host[to]);
            farthest_s = latency_s > farthest_s ? latency_s : farthest_s;
            least = bandwidth < least ? bandwidth : least;
        }
    printf("%zu %.3f %.3f\n", hosts, farthest_s * 1e6, least / 1e9);
    return 0;
}
