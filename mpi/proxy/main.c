/* tidings-mpi-proxy: the proxy of COSMO-SPECS+FD4 on all ranks. */
#include <mpi.h>

#include "proxy.h"

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    int status = proxy_main(MPI_COMM_WORLD, count, words);
    MPI_Finalize();
    return status;
}
