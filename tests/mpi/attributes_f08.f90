! Attributes of the world and a handler by the module mpi_f08.
module notes
   use mpi_f08
   implicit none
   logical :: is_world = .false.
   integer :: calls = 0
contains
   subroutine noted(comm, error)
      type(MPI_Comm) :: comm
      integer :: error
      is_world = comm == MPI_COMM_WORLD .and. error /= MPI_SUCCESS
      calls = calls + 1
   end subroutine
end module

program attributes
   use mpi_f08
   use notes
   implicit none
   integer :: rank, ranks, key
   integer(MPI_ADDRESS_KIND) :: extra = 0, value
   type(MPI_Comm) :: dup
   type(MPI_Errhandler) :: handler
   logical :: flag
   call MPI_Init()
   call MPI_Comm_rank(MPI_COMM_WORLD, rank)
   call MPI_Comm_size(MPI_COMM_WORLD, ranks)
   call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, extra)
   value = 90 + rank
   call MPI_Comm_set_attr(MPI_COMM_WORLD, key, value)
   call show('the world', MPI_COMM_WORLD)
   call MPI_Comm_dup(MPI_COMM_WORLD, dup)
   call show('a duplicate', dup)
   call MPI_Comm_delete_attr(MPI_COMM_WORLD, key)
   call show('deleted', MPI_COMM_WORLD)
   call MPI_Comm_create_errhandler(noted, handler)
   call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler)
   call MPI_Send(rank, 1, MPI_INTEGER, ranks, 0, MPI_COMM_WORLD)
   if (rank == 0) print *, 'called with the world', is_world, calls
   call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
   call MPI_Finalize()
contains
   subroutine show(what, comm)
      character(*), intent(in) :: what
      type(MPI_Comm), intent(in) :: comm
      integer(MPI_ADDRESS_KIND) :: mine, total
      call MPI_Comm_get_attr(comm, key, mine, flag)
      if (.not. flag) mine = -1
      call MPI_Reduce(mine, total, 1, MPI_AINT, MPI_SUM, 0, MPI_COMM_WORLD)
      if (rank == 0) print *, what, mine, total
   end subroutine
end program
