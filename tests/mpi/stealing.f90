! Ranks count the leaves of a binary tree: each task spawns two until its depth is 0, and adds to a
! global array.
module search
  use tidings_steal
  implicit none
  integer(c_int16_t) :: visiting
  type(c_ptr) :: counts
  integer(c_int), target :: root = 14
contains
  subroutine visit(tasks, user) bind(C)
    type(c_ptr), value :: tasks, user
    integer(c_int), pointer :: depth
    integer(c_int), target :: below
    integer(c_size_t) :: bytes
    integer(c_int) :: status
    real(c_double) :: one(1)
    if (c_associated(user)) error stop 'nothing was registered'
    call c_f_pointer(tidings_steal_state(tasks, bytes), depth)
    below = depth - 1
    if (depth == 0) then
      one = 1
      status = tidings_steal_array_accumulate(counts, 0_c_int64_t, 0_c_int64_t, one)
    else
      status = tidings_steal_spawn(tasks, visiting, 0_c_int64_t, c_loc(below), c_sizeof(below))
      status = tidings_steal_spawn(tasks, visiting, 0_c_int64_t, c_loc(below), c_sizeof(below))
    end if
    if (status /= TIDINGS_STEAL_OK) error stop 'a task could not do what it should'
  end subroutine visit
end module search

program stealing
  use mpi
  use search
  implicit none
  type(tidings_steal_options) :: options
  type(tidings_steal_error) :: error
  type(tidings_steal_phase_result) :: phase
  type(tidings_steal_balancing) :: balancing
  type(c_ptr) :: steal
  integer :: provided, rank, ierror, status, living
  integer(c_int64_t) :: executed
  real(c_double) :: leaves(1)
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  options%selection = TIDINGS_STEAL_LIFELINES
  options%retain = .true.
  status = tidings_steal_open(MPI_COMM_WORLD, options, steal, error)
  status = status + tidings_steal_function(steal, c_funloc(visit), c_null_ptr, visiting)
  status = status + tidings_steal_array_create(steal, 1_c_int64_t, 1_c_int64_t, 1_c_int32_t, &
    1_c_int32_t, counts, error)
  if (rank == 0) status = status + &
    tidings_steal_add(steal, visiting, 0_c_int64_t, c_loc(root), c_sizeof(root))
  status = status + tidings_steal_phase(steal, 'leaves' // c_null_char, phase, error)
  status = status + tidings_steal_balance(steal, 'leaves' // c_null_char, balancing, error)
  if (balancing%before < balancing%after) error stop 'it is less even than before'
  status = status + tidings_steal_array_sync(counts)
  status = status + tidings_steal_array_get(counts, 0_c_int64_t, 0_c_int64_t, leaves)
  if (status /= 0) error stop 'a call was refused'
  if (leaves(1) /= 2.0d0**root) error stop 'leaves are missing'
  if (tidings_steal_survives(steal)) error stop 'the job was not started so'
  if (tidings_steal_living(steal, living) /= 0) error stop 'all live'
  call MPI_Allreduce(phase%counters%executed, executed, 1, MPI_INTEGER8, MPI_SUM, living, ierror)
  if (executed /= 2**(root + 1) - 1 .or. phase%deaths /= 0) error stop 'tasks are missing'
  call MPI_Comm_free(living, ierror)
  call tidings_steal_array_free(counts)
  call tidings_steal_close(steal)
  if (rank == 0) print '(a)', 'done'
  call MPI_Finalize(ierror)
end program stealing
