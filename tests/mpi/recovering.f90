! Tasks add numbers to a block each, and all blocks have what they should.
module adding
  use tidings_recover
  implicit none
  integer(c_int32_t), parameter :: blocks = 6
  integer(c_int64_t), parameter :: tasks = 120
  integer(c_int16_t) :: sums
contains
  integer(c_size_t) function outputs(user, task, places) bind(C)
    type(c_ptr), value :: user
    integer(c_int64_t), value :: task
    type(tidings_recovery_place), intent(out) :: places(255)
    if (c_associated(user)) error stop 'nothing was given'
    places(1)%array = sums
    places(1)%block = int(mod(task, int(blocks, c_int64_t)), c_int32_t)
    outputs = 1
  end function outputs

  subroutine body(task, number, user) bind(C)
    type(c_ptr), value :: task, user
    integer(c_int64_t), value :: number
    real(c_double), target :: one(2)
    if (c_associated(user) .or. tidings_recover_is_again(task)) error stop 'nobody has died'
    call tidings_recover_progress(task)
    one = [1.0d0, real(number, c_double)]
    call tidings_recover_add(task, sums, int(mod(number, int(blocks, c_int64_t)), c_int32_t), &
      c_loc(one), 2_c_size_t)
  end subroutine body
end module adding

program recovering
  use mpi
  use adding
  implicit none
  type(tidings_recover_options) :: options
  type(tidings_recovery_array) :: array
  type(tidings_recovery_plan) :: plan
  type(tidings_recover_phase_result) :: phase
  type(tidings_recover_error) :: error
  type(c_ptr) :: recover, elements
  character(c_char), target :: name(5) = ['s', 'u', 'm', 's', c_null_char]
  real(c_double), pointer :: found(:)
  logical(c_bool), allocatable :: lives(:)
  integer :: provided, rank, ranks, ierror, status, living
  integer(c_int64_t) :: executed
  integer(c_size_t) :: words
  integer(c_int32_t) :: block, per_block
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  options%scheme = TIDINGS_RECOVERY_SCHEME_NON_COLLECTIVE
  options%is_quiet = .true.
  status = tidings_recover_open(MPI_COMM_WORLD, options, recover, error)
  array%name = c_loc(name)
  array%blocks = blocks
  array%words = 2
  status = status + tidings_recover_array(recover, array, sums, error)
  plan%tasks = tasks
  plan%outputs = c_funloc(outputs)
  status = status + tidings_recover_phase(recover, 'adding' // c_null_char, plan, &
    c_funloc(body), c_null_ptr, phase, error)
  if (status /= 0) error stop 'a call was refused'
  allocate (lives(ranks))
  if (tidings_recover_agree(recover, lives) /= 0) error stop 'who lives is not known'
  if (tidings_recover_survives(recover)) error stop 'the job was not started so'
  if (phase%deaths /= 0 .or. .not. all(lives)) error stop 'all live'
  if (tidings_recover_living(recover, living) /= 0) error stop 'all live, and have a communicator'
  call MPI_Allreduce(phase%counters%executed, executed, 1, MPI_INTEGER8, MPI_SUM, living, ierror)
  if (executed /= tasks) error stop 'each task runs once'
  call MPI_Comm_free(living, ierror)
  per_block = int(tasks) / blocks
  do block = 0, blocks - 1
    status = tidings_recover_block(recover, sums, block, elements, words)
    if (status /= 0) error stop 'a block is lost'
    if (.not. c_associated(elements)) cycle
    call c_f_pointer(elements, found, [words])
    if (nint(found(1)) /= per_block) error stop 'a contribution is missing or there twice'
    if (nint(found(2)) /= per_block * block + blocks * per_block * (per_block - 1) / 2) &
      error stop 'a contribution is another'
  end do
  call tidings_recover_close(recover)
  if (rank == 0) print '(a)', 'done'
  call MPI_Finalize(ierror)
end program recovering
