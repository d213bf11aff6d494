/* Where ranks are, as a check of stealing.c. */
#include "places.h"

extern int rank, ranks;
void near(void);
void expect(bool holds, const char *what);

/* Those are near that share a host, as MPI says, and each is nearest to itself. */
void near(void)
{
    enum { MOST = 64 };
    Places places;
    MPI_Comm host;
    int own[MOST] = { 0 }, here[MOST] = { 0 };
    expect(ranks <= MOST && places_open(&places, MPI_COMM_WORLD), "no places are known");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
    own[rank] = 1;
    MPI_Allreduce(own, here, MOST, MPI_INT, MPI_MAX, host);
    for (uint32_t other = 0; other < (uint32_t)ranks; other++) {
        int far = places_far(&places, (uint32_t)rank, other);
        expect((far <= PLACE_HOST) == here[other], "it is not the host that MPI says");
        uint32_t distance = places.shown.distance(&places, (uint32_t)rank, other);
        expect(!distance == (other == (uint32_t)rank), "another is as near as the rank itself");
        expect(distance == places.shown.distance(&places, other, (uint32_t)rank),
               "it is not as far there as back");
    }
    expect(places.shown.distance(&places, 0, (uint32_t)ranks) == UINT32_MAX, "a rank too many");
    MPI_Comm_free(&host);
    places_close(&places);
}
