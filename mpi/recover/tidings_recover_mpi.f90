!> Phases of an MPI program in which ranks may die, for Fortran: what tidings_recover_mpi.h has,
!> under the same names. Communicators are the numbers of the module mpi, or mpi_val of mpi_f08.
!> Functions of a plan and bodies of tasks have bind(C). Tasks and blocks are numbered from 0.
!>
!>     call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierror)
!>     status = tidings_recover_open(MPI_COMM_WORLD, options, recover, error)
!>     status = tidings_recover_array(recover, array, sums, error)
!>     status = tidings_recover_phase(recover, 'search' // c_null_char, plan, c_funloc(body), &
!>       c_null_ptr, phase, error)
!>     status = tidings_recover_block(recover, sums, block, elements, words)
!>     call tidings_recover_close(recover)
module tidings_recover
  use, intrinsic :: iso_c_binding
  implicit none

  integer(c_int32_t), parameter :: TIDINGS_RECOVERY_SCHEME_LAZY = 0
  integer(c_int32_t), parameter :: TIDINGS_RECOVERY_SCHEME_COLLECTIVE = 1
  integer(c_int32_t), parameter :: TIDINGS_RECOVERY_SCHEME_NON_COLLECTIVE = 2
  integer(c_int32_t), parameter :: TIDINGS_RECOVERY_KIND_INTEGERS = 0
  integer(c_int32_t), parameter :: TIDINGS_RECOVERY_KIND_DOUBLES = 1
  integer(c_int), parameter :: TIDINGS_RECOVERY_STATUS_OK = 0
  integer(c_int), parameter :: TIDINGS_RECOVERY_STATUS_LOST = 11
  integer(c_int), parameter :: TIDINGS_RECOVER_REFUSED = 110

  !> Why a call has failed, up to a null character.
  type, bind(C) :: tidings_recover_error
    character(c_char) :: text(512)
  end type tidings_recover_error

  !> How ranks share tasks and recover; as it is declared, it says what is usual.
  type, bind(C) :: tidings_recover_options
    integer(c_int32_t) :: scheme = 0
    logical(c_bool) :: lifelines = .false., is_quiet = .false.
    integer(c_int32_t) :: most_pending = 0, poll_us = 0, enter_ms = 0
    integer(c_int64_t) :: seed = 0
  end type tidings_recover_options

  !> An array of blocks. `name` is the address of a text that ends with a null character.
  type, bind(C) :: tidings_recovery_array
    type(c_ptr) :: name
    integer(c_int32_t) :: blocks, words
    integer(c_int32_t) :: kind = TIDINGS_RECOVERY_KIND_DOUBLES
    logical(c_bool) :: copied = .true., recompute = .true.
  end type tidings_recovery_array

  !> The place of a block.
  type, bind(C) :: tidings_recovery_place
    integer(c_int16_t) :: array
    integer(c_int32_t) :: block
  end type tidings_recovery_place

  !> What a phase declares. `outputs` is the address of a function that has a user's address, the
  !> number of a task and an array of 255 places, which it fills; how many it has filled.
  type, bind(C) :: tidings_recovery_plan
    type(c_ptr) :: user = c_null_ptr
    integer(c_int64_t) :: tasks
    type(c_funptr) :: outputs
    type(c_funptr) :: work_ns = c_null_funptr
  end type tidings_recovery_plan

  !> What a rank has done since it was opened.
  type, bind(C) :: tidings_recovery_counters
    integer(c_int64_t) :: executed, steals, rounds, again, applied, dropped, begun_again, copied
  end type tidings_recovery_counters

  !> What a phase did on this rank.
  type, bind(C) :: tidings_recover_phase_result
    real(c_double) :: seconds, work_seconds
    integer(c_int32_t) :: deaths
    type(tidings_recovery_counters) :: counters
  end type tidings_recover_phase_result

  interface
    integer(c_int) function tidings_recover_open(comm, options, recover, error) &
        bind(C, name='tidings_recover_open_fortran')
      import
      integer(c_int), value :: comm
      type(tidings_recover_options), intent(in) :: options
      type(c_ptr), intent(out) :: recover
      type(tidings_recover_error), intent(out) :: error
    end function tidings_recover_open

    subroutine tidings_recover_close(recover) bind(C)
      import
      type(c_ptr), value :: recover
    end subroutine tidings_recover_close

    logical(c_bool) function tidings_recover_survives(recover) bind(C)
      import
      type(c_ptr), value :: recover
    end function tidings_recover_survives

    integer(c_int) function tidings_recover_array(recover, array, number, error) bind(C)
      import
      type(c_ptr), value :: recover
      type(tidings_recovery_array), intent(in) :: array
      integer(c_int16_t), intent(out) :: number
      type(tidings_recover_error), intent(out) :: error
    end function tidings_recover_array

    integer(c_int) function tidings_recover_zero(recover, array) bind(C)
      import
      type(c_ptr), value :: recover
      integer(c_int16_t), value :: array
    end function tidings_recover_zero

    !> The plan, and what it names, stays as it is until the next phase, or the end.
    integer(c_int) function tidings_recover_phase(recover, name, plan, body, user, phase, error) &
        bind(C)
      import
      type(c_ptr), value :: recover, user
      character(c_char), intent(in) :: name(*)
      type(tidings_recovery_plan), intent(in) :: plan
      type(c_funptr), value :: body
      type(tidings_recover_phase_result), intent(out) :: phase
      type(tidings_recover_error), intent(out) :: error
    end function tidings_recover_phase

    subroutine tidings_recover_add(task, array, block, elements, words) bind(C)
      import
      type(c_ptr), value :: task, elements
      integer(c_int16_t), value :: array
      integer(c_int32_t), value :: block
      integer(c_size_t), value :: words
    end subroutine tidings_recover_add

    logical(c_bool) function tidings_recover_is_again(task) bind(C)
      import
      type(c_ptr), value :: task
    end function tidings_recover_is_again

    subroutine tidings_recover_progress(task) bind(C)
      import
      type(c_ptr), value :: task
    end subroutine tidings_recover_progress

    integer(c_int) function tidings_recover_block(recover, array, block, elements, words) bind(C)
      import
      type(c_ptr), value :: recover
      integer(c_int16_t), value :: array
      integer(c_int32_t), value :: block
      type(c_ptr), intent(out) :: elements
      integer(c_size_t), intent(out) :: words
    end function tidings_recover_block

    integer(c_int) function tidings_recover_agree(recover, lives) bind(C)
      import
      type(c_ptr), value :: recover
      logical(c_bool), intent(out) :: lives(*)
    end function tidings_recover_agree

    integer(c_int) function tidings_recover_living(recover, living) &
        bind(C, name='tidings_recover_living_fortran')
      import
      type(c_ptr), value :: recover
      integer(c_int), intent(out) :: living
    end function tidings_recover_living
  end interface
end module tidings_recover
