! Attributes of the world by the module mpi, seen by C too; of a window and a datatype.
program attributes
   use mpi
   use iso_c_binding, only: c_long
   implicit none
   interface
      function c_sees(comm, key) bind(c) result(value)
         import :: c_long
         integer, value :: comm, key
         integer(c_long) :: value
      end function
      subroutine c_sets(comm, key, value) bind(c)
         import :: c_long
         integer, value :: comm, key
         integer(c_long), value :: value
      end subroutine
   end interface
   integer :: rank, ierr, key, dup, half, pair, window, memory(4)
   integer(MPI_ADDRESS_KIND) :: extra = 0, value, bytes = 16
   logical :: flag
   call MPI_Init(ierr)
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
   call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, extra, ierr)
   value = 90 + rank
   call MPI_Comm_set_attr(MPI_COMM_WORLD, key, value, ierr)
   call show('the world', MPI_COMM_WORLD)
   call tell('C sees', int(c_sees(MPI_COMM_WORLD, key), MPI_ADDRESS_KIND))
   call MPI_Comm_dup(MPI_COMM_WORLD, dup, ierr)
   call show('a duplicate', dup)
   call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, ierr)
   call show('a half', half)
   call c_sets(MPI_COMM_WORLD, key, 500_c_long)
   call show('what C has set', MPI_COMM_WORLD)
   call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, ierr)
   call show('deleted', MPI_COMM_WORLD)
   call show('the duplicate still', dup)
   call MPI_Comm_free_keyval(key, ierr)
   key = MPI_UNIVERSE_SIZE
   call show('slots', MPI_COMM_WORLD)
   call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, key, extra, ierr)
   call MPI_Type_contiguous(2, MPI_INTEGER, pair, ierr)
   value = 110 + rank
   call MPI_Type_set_attr(pair, key, value, ierr)
   call MPI_Type_get_attr(pair, key, value, flag, ierr)
   call tell('a datatype', merge(value, -1_MPI_ADDRESS_KIND, flag))
   call MPI_Type_free(pair, ierr)
   call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, key, extra, ierr)
   call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierr)
   value = 120 + rank
   call MPI_Win_set_attr(window, key, value, ierr)
   call MPI_Win_get_attr(window, key, value, flag, ierr)
   call tell('a window', merge(value, -1_MPI_ADDRESS_KIND, flag))
   call MPI_Win_free(window, ierr)
   call MPI_Finalize(ierr)
contains
   ! A communicator's attribute of the key.
   subroutine show(what, comm)
      character(*), intent(in) :: what
      integer, intent(in) :: comm
      integer(MPI_ADDRESS_KIND) :: found
      call MPI_Comm_get_attr(comm, key, found, flag, ierr)
      call tell(what, merge(found, -1_MPI_ADDRESS_KIND, flag))
   end subroutine
   subroutine tell(what, mine)
      character(*), intent(in) :: what
      integer(MPI_ADDRESS_KIND), intent(in) :: mine
      integer(MPI_ADDRESS_KIND) :: total
      call MPI_Reduce(mine, total, 1, MPI_AINT, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
      if (rank == 0) print *, what, mine, total
   end subroutine
end program
