C     Who is in the world, by the oldest interface.
      program world
      implicit none
      include 'mpif.h'
      integer ierr, rank, ranks, total
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
      call MPI_REDUCE(rank, total, 1, MPI_INTEGER, MPI_SUM, 0,
     &                MPI_COMM_WORLD, ierr)
      if (rank .eq. 0) print *, 'ranks', ranks, 'sum', total
      call MPI_FINALIZE(ierr)
      end program world
