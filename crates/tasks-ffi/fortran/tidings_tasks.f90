! Durable tasks for Fortran: tidings_tasks.h by bind(C), under the same names. The header says what
! each function does. Texts are given to C by `tidings_text`, which ends them as C wants it, and read
! by `tidings_words`. A program compiles this file with its own compiler: modules are that compiler's own.

module tidings_tasks
    use, intrinsic :: iso_c_binding
    implicit none
    private

    public :: tidings_tasks_open, tidings_tasks_close, tidings_tasks_id, tidings_tasks_submit
    public :: tidings_tasks_wait, tidings_tasks_outcome_free, tidings_tasks_cancel
    public :: tidings_tasks_forget, tidings_tasks_claim, tidings_tasks_is_wanted
    public :: tidings_tasks_progress, tidings_tasks_complete, tidings_tasks_fail
    public :: tidings_tasks_give_back, tidings_tasks_work, tidings_tasks_result
    public :: tidings_tasks_semaphore, tidings_tasks_acquire, tidings_tasks_is_held
    public :: tidings_tasks_release, tidings_tasks_queue
    public :: tidings_tasks_write, tidings_tasks_read, tidings_tasks_collect
    public :: tidings_tasks_get, tidings_tasks_set, tidings_tasks_withdraw
    public :: tidings_tasks_child, tidings_tasks_effect
    public :: tidings_tasks_share, tidings_tasks_fetch, tidings_tasks_pin
    public :: tidings_tasks_blob_bytes, tidings_tasks_blob_is_copy, tidings_tasks_unshare
    public :: tidings_text, tidings_words

    ! What a call answers: a number of TidingsTasksStatus.
    integer(c_int), parameter, public :: TIDINGS_TASKS_STATUS_OK = 0
    integer(c_int), parameter, public :: TIDINGS_TASKS_STATUS_TIMEOUT = 1
    integer(c_int), parameter, public :: TIDINGS_TASKS_STATUS_SUPERSEDED = 2
    integer(c_int), parameter, public :: TIDINGS_TASKS_STATUS_ARGUMENT = 3
    integer(c_int), parameter, public :: TIDINGS_TASKS_STATUS_NOT_FOUND = 4
    integer(c_int), parameter, public :: TIDINGS_TASKS_STATUS_REFUSED = 5
    integer(c_int), parameter, public :: TIDINGS_TASKS_STATUS_STORE = 6
    integer(c_int), parameter, public :: TIDINGS_TASKS_STATUS_FORKED = 7
    integer(c_int), parameter, public :: TIDINGS_TASKS_STATUS_BROKEN = 8
    integer(c_int), parameter, public :: TIDINGS_TASKS_STATUS_CHANGED = 9

    ! How a task has ended.
    integer(c_int), parameter, public :: TIDINGS_TASKS_END_DONE = 0
    integer(c_int), parameter, public :: TIDINGS_TASKS_END_FAILED = 1
    integer(c_int), parameter, public :: TIDINGS_TASKS_END_CANCELLED = 2

    ! No limit of time, any revision of a key, and the bytes of an error's text.
    integer(c_int64_t), parameter, public :: TIDINGS_TASKS_FOREVER = -1
    integer(c_int64_t), parameter, public :: TIDINGS_TASKS_ANY = -1
    integer, parameter, public :: TIDINGS_TASKS_ERROR_BYTES = 512

    ! The bytes of the name of a host in a handle.
    integer, parameter, public :: TIDINGS_TASKS_HOST_BYTES = 256

    type, bind(C), public :: TidingsTasksError
        character(kind=c_char) :: text(TIDINGS_TASKS_ERROR_BYTES)
    end type

    type, bind(C), public :: TidingsTasksOptions
        type(c_ptr) :: store = c_null_ptr
        type(c_ptr) :: keys = c_null_ptr
        type(c_ptr) :: name = c_null_ptr
        integer(c_int64_t) :: timeout_ms = 0
        type(c_ptr) :: resources = c_null_ptr
        type(c_ptr) :: blobs = c_null_ptr
    end type

    type, bind(C), public :: TidingsTasksId
        integer(c_int8_t) :: bytes(16) = 0
    end type

    type, bind(C), public :: TidingsTasksHandle
        integer(c_int8_t) :: hash(32) = 0
        integer(c_int64_t) :: count = 0
        integer(c_int64_t) :: depot = 0
        character(kind=c_char) :: host(TIDINGS_TASKS_HOST_BYTES) = c_null_char
    end type

    type, bind(C), public :: TidingsTasksSubmission
        type(TidingsTasksId) :: id
        type(c_ptr) :: queue = c_null_ptr
        type(c_ptr) :: function = c_null_ptr
        type(c_ptr) :: payload = c_null_ptr
        integer(c_size_t) :: payload_bytes = 0
        type(c_ptr) :: group = c_null_ptr
        integer(c_int16_t) :: priority = 0
        integer(c_int16_t) :: retries = 0
        integer(c_int64_t) :: delay_ms = 0
        type(c_ptr) :: need = c_null_ptr
        type(c_ptr) :: filter = c_null_ptr
        type(c_ptr) :: inputs = c_null_ptr
        integer(c_size_t) :: input_count = 0
    end type

    type, bind(C), public :: TidingsTasksOutcome
        integer(c_int) :: end
        integer(c_int32_t) :: attempts
        type(c_ptr) :: result
        integer(c_size_t) :: result_bytes
        character(kind=c_char) :: failure(TIDINGS_TASKS_ERROR_BYTES)
    end type

    type, bind(C), public :: TidingsTasksClaim
        type(TidingsTasksId) :: id
        integer(c_int32_t) :: attempt
        type(c_ptr) :: queue
        type(c_ptr) :: function
        type(c_ptr) :: payload
        integer(c_size_t) :: payload_bytes
    end type

    type, bind(C), public :: TidingsTasksQueueLength
        integer(c_int64_t) :: ready
        integer(c_int64_t) :: delayed
        integer(c_int64_t) :: running
    end type

    type, bind(C), public :: TidingsTasksBytes
        type(c_ptr) :: start
        integer(c_size_t) :: count
    end type

    ! `body` is a function of (type(c_ptr), value :: inputs, integer(c_size_t), value :: count,
    ! type(c_ptr), value :: result, context) with bind(C) that returns an integer(c_int).
    type, bind(C), public :: TidingsTasksCombine
        type(c_funptr) :: body = c_null_funptr
        type(c_ptr) :: context = c_null_ptr
    end type

    ! `body` is a function of (type(c_ptr), value :: claim, result, context) with bind(C) that
    ! returns an integer(c_int): c_funloc of it.
    type, bind(C), public :: TidingsTasksFunction
        type(c_ptr) :: name = c_null_ptr
        type(c_funptr) :: body = c_null_funptr
        type(c_ptr) :: context = c_null_ptr
    end type

    interface
        integer(c_int) function tidings_tasks_open(options, tasks, error) bind(C)
            import
            type(TidingsTasksOptions), intent(in) :: options
            type(c_ptr), intent(out) :: tasks
            type(TidingsTasksError), intent(out) :: error
        end function

        subroutine tidings_tasks_close(tasks) bind(C)
            import
            type(c_ptr), value :: tasks
        end subroutine

        integer(c_int) function tidings_tasks_id(name, number, id, error) bind(C)
            import
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int64_t), value :: number
            type(TidingsTasksId), intent(out) :: id
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_submit(tasks, submissions, count, added, error) &
                bind(C)
            import
            type(c_ptr), value :: tasks
            type(TidingsTasksSubmission), intent(in) :: submissions(*)
            integer(c_size_t), value :: count
            integer(c_size_t), intent(out) :: added
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_wait(tasks, id, timeout_ms, outcome, error) bind(C)
            import
            type(c_ptr), value :: tasks
            type(TidingsTasksId), intent(in) :: id
            integer(c_int64_t), value :: timeout_ms
            type(TidingsTasksOutcome), intent(out) :: outcome
            type(TidingsTasksError), intent(out) :: error
        end function

        subroutine tidings_tasks_outcome_free(outcome) bind(C)
            import
            type(TidingsTasksOutcome), intent(inout) :: outcome
        end subroutine

        integer(c_int) function tidings_tasks_cancel(tasks, id, error) bind(C)
            import
            type(c_ptr), value :: tasks
            type(TidingsTasksId), intent(in) :: id
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_withdraw(tasks, id, error) bind(C)
            import
            type(c_ptr), value :: tasks
            type(TidingsTasksId), intent(in) :: id
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_forget(tasks, ids, count, error) bind(C)
            import
            type(c_ptr), value :: tasks
            type(TidingsTasksId), intent(in) :: ids(*)
            integer(c_size_t), value :: count
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_share(tasks, bytes, count, handle, blob, error) &
                bind(C)
            import
            type(c_ptr), value :: tasks
            type(c_ptr), value :: bytes
            integer(c_size_t), value :: count
            type(TidingsTasksHandle), intent(out) :: handle
            type(c_ptr), intent(out) :: blob
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_fetch(tasks, handle, blob, error) bind(C)
            import
            type(c_ptr), value :: tasks
            type(TidingsTasksHandle), intent(in) :: handle
            type(c_ptr), intent(out) :: blob
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_pin(tasks, handle, id, error) bind(C)
            import
            type(c_ptr), value :: tasks
            type(TidingsTasksHandle), intent(in) :: handle
            type(TidingsTasksId), intent(in) :: id
            type(TidingsTasksError), intent(out) :: error
        end function

        type(c_ptr) function tidings_tasks_blob_bytes(blob, count) bind(C)
            import
            type(c_ptr), value :: blob
            integer(c_size_t), intent(out) :: count
        end function

        logical(c_bool) function tidings_tasks_blob_is_copy(blob) bind(C)
            import
            type(c_ptr), value :: blob
        end function

        subroutine tidings_tasks_unshare(blob) bind(C)
            import
            type(c_ptr), value :: blob
        end subroutine

        integer(c_int) function tidings_tasks_claim(tasks, queue, timeout_ms, claim, error) bind(C)
            import
            type(c_ptr), value :: tasks
            character(kind=c_char), intent(in) :: queue(*)
            integer(c_int64_t), value :: timeout_ms
            type(c_ptr), intent(out) :: claim
            type(TidingsTasksError), intent(out) :: error
        end function

        logical(c_bool) function tidings_tasks_is_wanted(claim) bind(C)
            import
            type(c_ptr), value :: claim
        end function

        integer(c_int) function tidings_tasks_progress(claim, thousandths, text, error) bind(C)
            import
            type(c_ptr), value :: claim
            integer(c_int16_t), value :: thousandths
            character(kind=c_char), intent(in) :: text(*)
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_child(claim, submission, error) bind(C)
            import
            type(c_ptr), value :: claim
            type(TidingsTasksSubmission), intent(in) :: submission
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_effect(claim, key, bytes, count, expect, error) bind(C)
            import
            type(c_ptr), value :: claim
            character(kind=c_char), intent(in) :: key(*)
            type(c_ptr), value :: bytes
            integer(c_size_t), value :: count
            integer(c_int64_t), value :: expect
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_input(claim, number, bytes, count, error) bind(C)
            import
            type(c_ptr), value :: claim
            integer(c_size_t), value :: number
            type(c_ptr), intent(out) :: bytes
            integer(c_size_t), intent(out) :: count
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_complete(claim, result, result_bytes, error) bind(C)
            import
            type(c_ptr), value :: claim
            type(c_ptr), value :: result
            integer(c_size_t), value :: result_bytes
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_fail(claim, reason, error) bind(C)
            import
            type(c_ptr), value :: claim
            character(kind=c_char), intent(in) :: reason(*)
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_give_back(claim, error) bind(C)
            import
            type(c_ptr), value :: claim
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_work(tasks, queue, functions, count, timeout_ms, &
                error) bind(C)
            import
            type(c_ptr), value :: tasks
            character(kind=c_char), intent(in) :: queue(*)
            type(TidingsTasksFunction), intent(in) :: functions(*)
            integer(c_size_t), value :: count
            integer(c_int64_t), value :: timeout_ms
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_result(result, bytes, count, error) bind(C)
            import
            type(c_ptr), value :: result
            type(c_ptr), value :: bytes
            integer(c_size_t), value :: count
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_semaphore(tasks, semaphore, permits, error) bind(C)
            import
            type(c_ptr), value :: tasks
            character(kind=c_char), intent(in) :: semaphore(*)
            integer(c_int32_t), value :: permits
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_acquire(tasks, semaphore, permits, timeout_ms, held, &
                error) bind(C)
            import
            type(c_ptr), value :: tasks
            character(kind=c_char), intent(in) :: semaphore(*)
            integer(c_int32_t), value :: permits
            integer(c_int64_t), value :: timeout_ms
            type(c_ptr), intent(out) :: held
            type(TidingsTasksError), intent(out) :: error
        end function

        logical(c_bool) function tidings_tasks_is_held(held) bind(C)
            import
            type(c_ptr), value :: held
        end function

        integer(c_int) function tidings_tasks_release(held, error) bind(C)
            import
            type(c_ptr), value :: held
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_queue(tasks, queue, length, error) bind(C)
            import
            type(c_ptr), value :: tasks
            character(kind=c_char), intent(in) :: queue(*)
            type(TidingsTasksQueueLength), intent(out) :: length
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_get(tasks, key, outcome, revision, error) bind(C)
            import
            type(c_ptr), value :: tasks
            character(kind=c_char), intent(in) :: key(*)
            type(TidingsTasksOutcome), intent(out) :: outcome
            integer(c_int64_t), intent(out) :: revision
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_set(tasks, key, bytes, count, expect, revision, error) &
                bind(C)
            import
            type(c_ptr), value :: tasks
            character(kind=c_char), intent(in) :: key(*)
            type(c_ptr), value :: bytes
            integer(c_size_t), value :: count
            integer(c_int64_t), value :: expect
            integer(c_int64_t), intent(out) :: revision
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_write(tasks, name, bytes, count, error) bind(C)
            import
            type(c_ptr), value :: tasks
            character(kind=c_char), intent(in) :: name(*)
            type(c_ptr), value :: bytes
            integer(c_size_t), value :: count
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_read(tasks, name, timeout_ms, outcome, error) bind(C)
            import
            type(c_ptr), value :: tasks
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int64_t), value :: timeout_ms
            type(TidingsTasksOutcome), intent(out) :: outcome
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_collect(tasks, name, leaves, combine, timeout_ms, &
                outcome, error) bind(C)
            import
            type(c_ptr), value :: tasks
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int64_t), value :: leaves
            type(TidingsTasksCombine), intent(in) :: combine
            integer(c_int64_t), value :: timeout_ms
            type(TidingsTasksOutcome), intent(out) :: outcome
            type(TidingsTasksError), intent(out) :: error
        end function
    end interface

contains

    ! A text as C has it.
    pure function tidings_text(of) result(text)
        character(*), intent(in) :: of
        character(kind=c_char) :: text(len_trim(of) + 1)
        integer :: i

        do i = 1, len_trim(of)
            text(i) = of(i:i)
        end do
        text(len_trim(of) + 1) = c_null_char
    end function

    ! A text of C, such as that of an error.
    pure function tidings_words(of) result(words)
        character(kind=c_char), intent(in) :: of(:)
        character(:), allocatable :: words
        integer :: i

        words = ''
        do i = 1, size(of)
            if (of(i) == c_null_char) exit
            words = words // of(i)
        end do
    end function
end module
