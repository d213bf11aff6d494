! Who is in the world, by the module mpi.
program world
   use mpi
   implicit none
   integer :: rank, ranks, total, ierr
   call MPI_Init(ierr)
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
   call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
   call MPI_Reduce(rank, total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
   if (rank == 0) print *, 'ranks', ranks, 'sum', total
   call MPI_Finalize(ierr)
end program world
