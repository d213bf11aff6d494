!> Phases of an MPI program in which its ranks share tasks by stealing, for Fortran: what
!> tidings_steal_mpi.h, tidings_steal_array.h and tidings_steal_balance.h have, under the same names. Communicators are the
!> numbers of the module mpi, or mpi_val of mpi_f08. Bodies of tasks are subroutines with bind(C).
!>
!>     call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierror)
!>     status = tidings_steal_open(MPI_COMM_WORLD, options, steal, error)
!>     status = tidings_steal_function(steal, c_funloc(visit), c_loc(total), visiting)
!>     status = tidings_steal_add(steal, visiting, 0_c_int64_t, c_loc(root), c_sizeof(root))
!>     status = tidings_steal_phase(steal, 'search' // c_null_char, phase, error)
!>     call tidings_steal_close(steal)
module tidings_steal
  use, intrinsic :: iso_c_binding
  implicit none

  integer(c_int32_t), parameter :: TIDINGS_STEAL_RANDOM = 0
  integer(c_int32_t), parameter :: TIDINGS_STEAL_LIFELINES = 1
  integer(c_int32_t), parameter :: TIDINGS_STEAL_KNOWN = 2
  integer(c_int32_t), parameter :: TIDINGS_STEAL_NEAREST = 3
  integer(c_int32_t), parameter :: TIDINGS_STEAL_BY_WORK = 0
  integer(c_int32_t), parameter :: TIDINGS_STEAL_BY_COUNT = 1
  integer(c_int), parameter :: TIDINGS_STEAL_OK = 0
  integer(c_int), parameter :: TIDINGS_STEAL_LOST = 108

  !> Why a call has failed, up to a null character.
  type, bind(C) :: tidings_steal_error
    character(c_char) :: text(256)
  end type tidings_steal_error

  !> How ranks share tasks; as it is declared, it says what is usual.
  type, bind(C) :: tidings_steal_options
    integer(c_int32_t) :: selection = 0, half = 0
    logical(c_bool) :: retain = .false., one_sided = .false.
    integer(c_int32_t) :: slot_bytes = 0, round_trip_us = 0, poll_us = 0, enter_ms = 0, unit_us = 0
    integer(c_int64_t) :: seed = 0
  end type tidings_steal_options

  !> What ranks have done.
  type, bind(C) :: tidings_steal_counters
    integer(c_int64_t) :: executed, spawned, attempts, steals, refused, pushed, tasks_in, lifelines
  end type tidings_steal_counters

  !> What a phase did on this rank.
  type, bind(C) :: tidings_steal_phase_result
    integer(c_int32_t) :: seeding
    real(c_double) :: seconds, work_seconds, waiting_seconds, stealing_seconds, enter_seconds
    integer(c_int64_t) :: messages, bytes
    integer(c_int32_t) :: deaths
    integer(c_int64_t) :: lost_tasks, lost_finishes
    type(tidings_steal_counters) :: counters
  end type tidings_steal_phase_result

  !> What a balancing has done.
  type, bind(C) :: tidings_steal_balancing
    integer(c_int64_t) :: moved
    real(c_double) :: before, after, seconds
    integer(c_int64_t) :: bytes
  end type tidings_steal_balancing

  !> A task, or what is left of one.
  type, bind(C) :: tidings_steal_task
    integer(c_int16_t) :: function_number
    integer(c_int32_t) :: step = 0
    integer(c_int64_t) :: work_ns = 0
    type(c_ptr) :: state = c_null_ptr
    integer(c_size_t) :: bytes = 0
  end type tidings_steal_task

  interface
    integer(c_int) function tidings_steal_open(comm, options, steal, error) &
        bind(C, name='tidings_steal_open_fortran')
      import
      integer(c_int), value :: comm
      type(tidings_steal_options), intent(in) :: options
      type(c_ptr), intent(out) :: steal
      type(tidings_steal_error), intent(out) :: error
    end function tidings_steal_open

    logical(c_bool) function tidings_steal_survives(steal) bind(C)
      import
      type(c_ptr), value :: steal
    end function tidings_steal_survives

    integer(c_int) function tidings_steal_living(steal, living) &
        bind(C, name='tidings_steal_living_fortran')
      import
      type(c_ptr), value :: steal
      integer(c_int), intent(out) :: living
    end function tidings_steal_living

    subroutine tidings_steal_close(steal) bind(C)
      import
      type(c_ptr), value :: steal
    end subroutine tidings_steal_close

    integer(c_int) function tidings_steal_function(steal, body, user, number) bind(C)
      import
      type(c_ptr), value :: steal, user
      type(c_funptr), value :: body
      integer(c_int16_t), intent(out) :: number
    end function tidings_steal_function

    integer(c_int) function tidings_steal_add(steal, number, work_ns, state, bytes) bind(C)
      import
      type(c_ptr), value :: steal, state
      integer(c_int16_t), value :: number
      integer(c_int64_t), value :: work_ns
      integer(c_size_t), value :: bytes
    end function tidings_steal_add

    integer(c_int) function tidings_steal_phase(steal, name, phase, error) bind(C)
      import
      type(c_ptr), value :: steal
      character(c_char), intent(in) :: name(*)
      type(tidings_steal_phase_result), intent(out) :: phase
      type(tidings_steal_error), intent(out) :: error
    end function tidings_steal_phase

    integer(c_int) function tidings_steal_balance(steal, name, balancing, error) bind(C)
      import
      type(c_ptr), value :: steal
      character(c_char), intent(in) :: name(*)
      type(tidings_steal_balancing), intent(out) :: balancing
      type(tidings_steal_error), intent(out) :: error
    end function tidings_steal_balance

    type(c_ptr) function tidings_steal_state(tasks, bytes) bind(C)
      import
      type(c_ptr), value :: tasks
      integer(c_size_t), intent(out) :: bytes
    end function tidings_steal_state

    integer(c_int32_t) function tidings_steal_step(tasks) bind(C)
      import
      type(c_ptr), value :: tasks
    end function tidings_steal_step

    integer(c_int) function tidings_steal_spawn(tasks, number, work_ns, state, bytes) bind(C)
      import
      type(c_ptr), value :: tasks, state
      integer(c_int16_t), value :: number
      integer(c_int64_t), value :: work_ns
      integer(c_size_t), value :: bytes
    end function tidings_steal_spawn

    integer(c_int) function tidings_steal_child_first(tasks, child, step, state, bytes) bind(C)
      import
      type(c_ptr), value :: tasks, state
      type(tidings_steal_task), intent(in) :: child
      integer(c_int32_t), value :: step
      integer(c_size_t), value :: bytes
    end function tidings_steal_child_first

    integer(c_int) function tidings_steal_finish_first(tasks, body, step, state, bytes) bind(C)
      import
      type(c_ptr), value :: tasks, state
      type(tidings_steal_task), intent(in) :: body
      integer(c_int32_t), value :: step
      integer(c_size_t), value :: bytes
    end function tidings_steal_finish_first

    subroutine tidings_steal_progress(tasks) bind(C)
      import
      type(c_ptr), value :: tasks
    end subroutine tidings_steal_progress

    integer(c_int) function tidings_steal_array_create(steal, rows, columns, block_rows, &
        block_columns, array, error) bind(C)
      import
      type(c_ptr), value :: steal
      integer(c_int64_t), value :: rows, columns
      integer(c_int32_t), value :: block_rows, block_columns
      type(c_ptr), intent(out) :: array
      type(tidings_steal_error), intent(out) :: error
    end function tidings_steal_array_create

    subroutine tidings_steal_array_free(array) bind(C)
      import
      type(c_ptr), value :: array
    end subroutine tidings_steal_array_free

    integer(c_int) function tidings_steal_array_owner(array, row, column) bind(C)
      import
      type(c_ptr), value :: array
      integer(c_int64_t), value :: row, column
    end function tidings_steal_array_owner

    !> Elements are row by row, as in C; rows and columns are numbered from 0.
    integer(c_int) function tidings_steal_array_get(array, row, column, block) bind(C)
      import
      type(c_ptr), value :: array
      integer(c_int64_t), value :: row, column
      real(c_double), intent(out) :: block(*)
    end function tidings_steal_array_get

    integer(c_int) function tidings_steal_array_put(array, row, column, block) bind(C)
      import
      type(c_ptr), value :: array
      integer(c_int64_t), value :: row, column
      real(c_double), intent(in) :: block(*)
    end function tidings_steal_array_put

    integer(c_int) function tidings_steal_array_accumulate(array, row, column, block) bind(C)
      import
      type(c_ptr), value :: array
      integer(c_int64_t), value :: row, column
      real(c_double), intent(in) :: block(*)
    end function tidings_steal_array_accumulate

    integer(c_int) function tidings_steal_array_sync(array) bind(C)
      import
      type(c_ptr), value :: array
    end function tidings_steal_array_sync

    integer(c_int) function tidings_steal_array_zero(array) bind(C)
      import
      type(c_ptr), value :: array
    end function tidings_steal_array_zero
  end interface
end module tidings_steal
