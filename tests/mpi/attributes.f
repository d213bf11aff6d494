C     Attributes of the world by the functions of MPI-1, and a handler.
      subroutine noted(comm, error)
      implicit none
      include 'mpif.h'
      integer comm, error, is_world, calls
      common /notes/ is_world, calls
      calls = calls + 1
      is_world = 0
      if (comm .eq. MPI_COMM_WORLD) is_world = 1
      end subroutine noted

      program attributes
      implicit none
      include 'mpif.h'
      external noted
      integer ierr, rank, ranks, key, value, dup, handler, answer
      integer is_world, calls
      logical flag
      common /notes/ is_world, calls
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
      call MPI_KEYVAL_CREATE(MPI_DUP_FN, MPI_NULL_DELETE_FN, key, 0,
     &                       ierr)
      call MPI_ATTR_PUT(MPI_COMM_WORLD, key, 70 + rank, ierr)
      call MPI_ATTR_GET(MPI_COMM_WORLD, key, value, flag, ierr)
      call show('the world', flag, value)
      call MPI_COMM_DUP(MPI_COMM_WORLD, dup, ierr)
      call MPI_ATTR_GET(dup, key, value, flag, ierr)
      call show('a duplicate', flag, value)
      call MPI_ATTR_DELETE(MPI_COMM_WORLD, key, ierr)
      call MPI_ATTR_GET(MPI_COMM_WORLD, key, value, flag, ierr)
      call show('deleted', flag, value)
      call MPI_ATTR_GET(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
      call show('greatest tag', flag, value)
      call MPI_COMM_CREATE_ERRHANDLER(noted, handler, ierr)
      call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, handler, ierr)
      calls = 0
      call MPI_SEND(rank, 1, MPI_INTEGER, ranks, 0, MPI_COMM_WORLD,
     &              answer)
      call show('called with the world', is_world .eq. 1, calls)
      call MPI_FINALIZE(ierr)
      end program attributes

      subroutine show(what, flag, value)
      implicit none
      include 'mpif.h'
      character*(*) what
      logical flag
      integer value, ierr, rank, sum, mine
      mine = -1
      if (flag) mine = value
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_REDUCE(mine, sum, 1, MPI_INTEGER, MPI_SUM, 0,
     &                MPI_COMM_WORLD, ierr)
      if (rank .eq. 0) print *, what, flag, mine, sum
      end subroutine show
