/* tidings_readings.h: what the payload of an entry says, as numbers with their units.
 *
 * A header, C11 or C++, no library, beside tidings.h: include it first, or define _POSIX_C_SOURCE
 * yourself.
 *
 *     tidings_readings of;
 *     char gpu[TIDINGS_VALUE];
 *     if (tidings_readings_of(&entry, &of) == TIDINGS_OK && of.load1 < of.cores)
 *         printf("%.1f GiB free\n", of.mem_available_bytes / (1 << 30));
 *     if (tidings_metric_of(&entry, "gpu.busy", gpu) == TIDINGS_OK) puts(gpu);
 *
 * A reading that the node lacks is not a number: isnan() says so, and no comparison holds for it.
 * The bytes are those of docs/reference/payload.md. A node that has left or died has its last ones;
 * its state says so.
 */
#ifndef TIDINGS_READINGS_H
#define TIDINGS_READINGS_H

#include "tidings.h"

#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of the longest value of a user metric, with a 0 behind it. */
#define TIDINGS_VALUE 256
/* The version of payloads that this file reads, and bytes of one without user metrics. */
#define TIDINGS_SCHEMA 1u
#define TIDINGS_READINGS_BYTES 44u

/* The readings of one node at one moment. */
typedef struct tidings_readings {
    double kernel_major, kernel_minor, kernel_patch;
    double cores;                /* logical processors online */
    double load1, load5, load15; /* runnable tasks */
    double cpu_busy_percent;     /* of all processors' time */
    double mem_total_bytes, mem_available_bytes;
    double swap_total_bytes, swap_used_bytes;
    double disk_read_bytes_s, disk_write_bytes_s; /* whole disks */
    double net_rx_bytes_s, net_tx_bytes_s;        /* loopback apart */
    double temperature_c;                         /* the hottest sensor */
    double power_w;                               /* all processor packages */
    double uptime_s;
    double psi_cpu_percent, psi_memory_percent, psi_io_percent; /* of the last 10 s */
} tidings_readings;

/* A walk along the readings of a payload. */
typedef struct tidings_places_ {
    const uint8_t *payload;
    uint32_t presence, bit, at;
} tidings_places_;

/* The next number, of so many bytes; -1 if the reading is absent. */
static inline int64_t tidings_place_(tidings_places_ *places, uint32_t bytes)
{
    uint32_t present = places->presence >> places->bit++ & 1u, number = 0, byte;
    for (byte = 0; byte < bytes; byte++)
        number |= (uint32_t)places->payload[places->at++] << 8 * byte;
    return present ? (int64_t)number : -1;
}

/* The next reading, in steps of which so many make one. */
static inline double tidings_steps_(tidings_places_ *places, uint32_t bytes, double steps)
{
    int64_t number = tidings_place_(places, bytes);
    return number < 0 ? (double)NAN : (double)number / steps;
}

/* The next reading, a floating-point number of 5 bits of exponent and 11 of mantissa. */
static inline double tidings_code16_(tidings_places_ *places, double unit, double steps)
{
    int64_t code = tidings_place_(places, 2);
    uint64_t mantissa = (uint64_t)code & 0x7ffu, exponent = (uint64_t)code >> 11 & 31u;
    if (code < 0)
        return (double)NAN;
    return (double)(exponent ? (2048u + mantissa) << (exponent - 1) : mantissa) * unit / steps;
}

static inline double tidings_celsius_(tidings_places_ *places)
{
    int64_t number = tidings_place_(places, 2);
    return number < 0 ? (double)NAN : (double)(int16_t)(uint16_t)number / 10;
}

static inline void tidings_decode_(const uint8_t *payload, tidings_readings *of)
{
    tidings_places_ places = {payload, 1, 0, 0};
    int64_t presence = tidings_place_(&places, 4), kernel;
    places.presence = (uint32_t)presence;
    places.bit = 0;
    kernel = tidings_place_(&places, 4);
    of->kernel_major = kernel < 0 ? (double)NAN : (double)(kernel & 0xff);
    of->kernel_minor = kernel < 0 ? (double)NAN : (double)(kernel >> 8 & 0xff);
    of->kernel_patch = kernel < 0 ? (double)NAN : (double)(kernel >> 16);
    of->cores = tidings_steps_(&places, 2, 1);
    of->load1 = tidings_code16_(&places, 1, 100);
    of->load5 = tidings_code16_(&places, 1, 100);
    of->load15 = tidings_code16_(&places, 1, 100);
    of->cpu_busy_percent = tidings_steps_(&places, 2, 100);
    of->mem_total_bytes = tidings_code16_(&places, 1024, 1);
    of->mem_available_bytes = tidings_code16_(&places, 1024, 1);
    of->swap_total_bytes = tidings_code16_(&places, 1024, 1);
    of->swap_used_bytes = tidings_code16_(&places, 1024, 1);
    of->disk_read_bytes_s = tidings_code16_(&places, 1, 1);
    of->disk_write_bytes_s = tidings_code16_(&places, 1, 1);
    of->net_rx_bytes_s = tidings_code16_(&places, 1, 1);
    of->net_tx_bytes_s = tidings_code16_(&places, 1, 1);
    of->temperature_c = tidings_celsius_(&places);
    of->power_w = tidings_code16_(&places, 1, 10);
    of->uptime_s = tidings_code16_(&places, 1, 1);
    of->psi_cpu_percent = tidings_steps_(&places, 1, 2.5);
    of->psi_memory_percent = tidings_steps_(&places, 1, 2.5);
    of->psi_io_percent = tidings_steps_(&places, 1, 2.5);
}

/* Reads the payload of an entry. Returns TIDINGS_OK, TIDINGS_NOT_THERE if the entry has no
 * readings, or TIDINGS_DAMAGED; then all are absent. */
static inline int tidings_readings_of(const tidings_entry *entry, tidings_readings *of)
{
    static const uint8_t none[TIDINGS_READINGS_BYTES] = {0};
    int there = entry->state != TIDINGS_UNHEARD && entry->payload_bytes >= TIDINGS_READINGS_BYTES;
    tidings_decode_(there ? entry->payload : none, of);
    if (of->cpu_busy_percent > 100 || of->psi_cpu_percent > 100 || of->psi_memory_percent > 100 ||
        of->psi_io_percent > 100) {
        tidings_decode_(none, of);
        return TIDINGS_DAMAGED;
    }
    return there ? TIDINGS_OK : TIDINGS_NOT_THERE;
}

/* Copies the value of what the node publishes under key, with a 0 behind it. Returns TIDINGS_OK,
 * TIDINGS_NOT_THERE, or TIDINGS_DAMAGED; value is empty then. */
static inline int tidings_metric_of(const tidings_entry *entry, const char *key,
                                    char value[TIDINGS_VALUE])
{
    uint32_t at = TIDINGS_READINGS_BYTES, end, key_bytes, value_bytes;
    value[0] = 0;
    if (entry->state == TIDINGS_UNHEARD)
        return TIDINGS_NOT_THERE;
    while (at < entry->payload_bytes && (key_bytes = entry->payload[at]) != 0) {
        if (at + 2 > entry->payload_bytes)
            return TIDINGS_DAMAGED;
        value_bytes = entry->payload[at + 1];
        end = at + 2 + key_bytes + value_bytes;
        if (end > entry->payload_bytes)
            return TIDINGS_DAMAGED;
        if (strlen(key) == key_bytes && memcmp(entry->payload + at + 2, key, key_bytes) == 0) {
            memcpy(value, entry->payload + at + 2 + key_bytes, value_bytes);
            value[value_bytes] = 0;
            return TIDINGS_OK;
        }
        at = end;
    }
    return TIDINGS_NOT_THERE;
}

#ifdef __cplusplus
}
#endif

#endif
