! Tasks in Fortran: an item that is claimed and done, a function that is called, and permits.

module doubling
    use, intrinsic :: iso_c_binding
    use tidings_tasks
    implicit none

contains

    integer(c_int) function doubles(claim, result, context) bind(C)
        type(c_ptr), value :: claim, result, context
        type(TidingsTasksClaim), pointer :: shown
        type(TidingsTasksError) :: error
        integer(c_int64_t), pointer :: number
        integer(c_int64_t), target :: doubled

        if (c_associated(context)) error stop 'no context was given'
        call c_f_pointer(claim, shown)
        call c_f_pointer(shown%payload, number)
        doubled = 2 * number
        doubles = tidings_tasks_result(result, c_loc(doubled), c_sizeof(doubled), error)
    end function
end module

program calls
    use, intrinsic :: iso_c_binding
    use tidings_tasks
    use doubling
    implicit none

    type(TidingsTasksOptions) :: options
    type(TidingsTasksSubmission) :: task
    type(TidingsTasksFunction) :: functions(1)
    type(TidingsTasksOutcome) :: outcome
    type(TidingsTasksQueueLength) :: length
    type(TidingsTasksError) :: error
    type(TidingsTasksHandle) :: handle
    type(c_ptr) :: tasks, claim, permits, blob, read
    integer(c_size_t) :: added
    integer(c_int64_t) :: revision
    character(kind=c_char), target :: queue(3) = ['f', '9', c_null_char]
    character(kind=c_char), target :: name(7) = ['d', 'o', 'u', 'b', 'l', 'e', c_null_char]
    integer(c_int64_t), target :: number = 21
    integer(c_int64_t), pointer :: doubled

    call ok(tidings_tasks_open(options, tasks, error))

    call ok(tidings_tasks_id(tidings_text('fortran'), 1_c_int64_t, task%id, error))
    task%queue = c_loc(queue)
    task%payload = c_loc(number)
    task%payload_bytes = c_sizeof(number)
    call ok(tidings_tasks_submit(tasks, [task], 1_c_size_t, added, error))
    if (added /= 1) error stop 'it was not added'
    call ok(tidings_tasks_queue(tasks, tidings_text('f9'), length, error))
    if (length%ready /= 1) error stop 'it is not in its queue'
    call ok(tidings_tasks_claim(tasks, tidings_text('f9'), TIDINGS_TASKS_FOREVER, claim, error))
    if (.not. tidings_tasks_is_wanted(claim)) error stop 'it is not wanted'
    call ok(tidings_tasks_complete(claim, c_loc(number), c_sizeof(number), error))
    call expect(21_c_int64_t)

    call ok(tidings_tasks_id(tidings_text('fortran'), 2_c_int64_t, task%id, error))
    task%function = c_loc(name)
    call ok(tidings_tasks_submit(tasks, [task], 1_c_size_t, added, error))
    functions(1)%name = c_loc(name)
    functions(1)%body = c_funloc(doubles)
    call ok(tidings_tasks_work(tasks, tidings_text('f9'), functions, 1_c_size_t, &
        TIDINGS_TASKS_FOREVER, error))
    call expect(42_c_int64_t)

    call ok(tidings_tasks_set(tasks, tidings_text('k/f'), c_loc(number), c_sizeof(number), &
        0_c_int64_t, revision, error))
    if (tidings_tasks_set(tasks, tidings_text('k/f'), c_loc(number), c_sizeof(number), &
        0_c_int64_t, revision, error) /= TIDINGS_TASKS_STATUS_CHANGED) error stop 'written twice'
    call ok(tidings_tasks_get(tasks, tidings_text('k/f'), outcome, revision, error))
    if (revision == 0 .or. outcome%result_bytes /= c_sizeof(number)) error stop 'it has no value'
    call tidings_tasks_outcome_free(outcome)

    call ok(tidings_tasks_semaphore(tasks, tidings_text('licences'), 1, error))
    call ok(tidings_tasks_acquire(tasks, tidings_text('licences'), 1, TIDINGS_TASKS_FOREVER, permits, &
        error))
    if (.not. tidings_tasks_is_held(permits)) error stop 'they are not held'
    call ok(tidings_tasks_release(permits, error))
    call ok(tidings_tasks_share(tasks, c_loc(number), c_sizeof(number), handle, blob, error))
    call ok(tidings_tasks_fetch(tasks, handle, read, error))
    call c_f_pointer(tidings_tasks_blob_bytes(read, added), doubled)
    if (added /= c_sizeof(number) .or. doubled /= number) error stop 'the blob is another one'
    if (tidings_tasks_blob_is_copy(read)) error stop 'it was copied'
    call tidings_tasks_unshare(read)
    call tidings_tasks_unshare(blob)
    call tidings_tasks_close(tasks)
    print '(a)', 'done'

contains

    subroutine ok(status)
        integer(c_int), intent(in) :: status

        if (status == TIDINGS_TASKS_STATUS_OK) return
        print '(a)', tidings_words(error%text)
        error stop 1
    end subroutine

    subroutine expect(value)
        integer(c_int64_t), intent(in) :: value

        call ok(tidings_tasks_wait(tasks, task%id, TIDINGS_TASKS_FOREVER, outcome, error))
        if (outcome%end /= TIDINGS_TASKS_END_DONE) error stop 'it is not done'
        call c_f_pointer(outcome%result, doubled)
        if (doubled /= value) error stop 'the result is another one'
        call tidings_tasks_outcome_free(outcome)
    end subroutine
end program
