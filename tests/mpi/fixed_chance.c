/*
 * For programs in Fortran that seed their random numbers from clocks and the system: with it,
 * every run draws the same. It replaces functions of libgfortran, and getentropy of the C
 * library.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int getentropy(void *room, size_t bytes)
{
    memset(room, 7, bytes);
    return 0;
}

void _gfortran_cpu_time_4(float *seconds)
{
    *seconds = 1.0f;
}

void _gfortran_date_and_time(char *date, char *time, char *zone, int32_t **values, int date_length,
                             int time_length, int zone_length)
{
    if (date)
        memset(date, '0', (size_t)date_length);
    if (time)
        memset(time, '0', (size_t)time_length);
    if (zone)
        memset(zone, '0', (size_t)zone_length);
    for (int at = 0; values && at < 8; at++)
        (*values)[at] = at + 1;
}
