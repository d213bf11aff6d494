! Tuples and flows in Fortran: every kind of field, a pull that is consumed, a statement, the tuple of
! a task; and a flow whose tasks change, move and read what they are given.

module summing
    use, intrinsic :: iso_c_binding
    use tidings_tasks
    use tidings_tasks_tuples
    use tidings_tasks_flows
    implicit none

contains

    ! The key is the number that the context points to.
    subroutine constant(arguments, key, context) bind(C)
        type(TidingsTasksField), intent(in) :: arguments(*)
        type(TidingsTasksField), intent(inout) :: key(*)
        type(c_ptr), value :: context
        integer(c_int64_t), pointer :: number

        if (arguments(1)%kind /= TIDINGS_TASKS_INT) error stop 'the argument is of another kind'
        call c_f_pointer(context, number)
        key(1)%integer = number
    end subroutine

    subroutine first(arguments, key, context) bind(C)
        type(TidingsTasksField), intent(in) :: arguments(*)
        type(TidingsTasksField), intent(inout) :: key(*)
        type(c_ptr), value :: context

        if (c_associated(context)) error stop 'no context was given'
        key(1)%integer = arguments(1)%integer
    end subroutine

    subroutine next(arguments, key, context) bind(C)
        type(TidingsTasksField), intent(in) :: arguments(*)
        type(TidingsTasksField), intent(inout) :: key(*)
        type(c_ptr), value :: context

        if (c_associated(context)) error stop 'no context was given'
        key(1)%integer = arguments(1)%integer + 1
    end subroutine

    integer(c_int64_t) function instance(claim, number)
        type(c_ptr), value :: claim
        integer, intent(in) :: number
        type(TidingsTasksError) :: error
        type(c_ptr) :: bytes
        integer(c_size_t) :: count
        integer(c_int64_t), pointer :: found

        if (tidings_tasks_flow_instance(claim, int(number, c_size_t), bytes, count, error) /= &
            TIDINGS_TASKS_STATUS_OK) error stop 'it has no such instance'
        if (count /= c_sizeof(found)) error stop 'the instance is another one'
        call c_f_pointer(bytes, found)
        instance = found
    end function

    ! Adds what it takes and what it reads to what it changes, and its argument.
    integer(c_int) function sums(claim, result, context) bind(C)
        type(c_ptr), value :: claim, result, context
        type(TidingsTasksError) :: error
        type(TidingsTasksField), pointer :: arguments(:)
        type(c_ptr) :: place
        integer(c_size_t) :: count
        integer(c_int64_t), target :: total
        type(TidingsTasksBytes) :: versions(1)

        if (c_associated(context)) error stop 'no context was given'
        if (tidings_tasks_flow_arguments(claim, place, count, error) /= TIDINGS_TASKS_STATUS_OK) &
            error stop 'it has no arguments'
        call c_f_pointer(place, arguments, [count])
        total = instance(claim, 0) + instance(claim, 1) + instance(claim, 2) + arguments(1)%integer
        versions(1) = TidingsTasksBytes(c_loc(total), c_sizeof(total))
        sums = tidings_tasks_flow_result(result, versions, 1_c_size_t, error)
    end function
end module

program spaces
    use, intrinsic :: iso_c_binding
    use tidings_tasks
    use tidings_tasks_tuples
    use tidings_tasks_flows
    use summing
    implicit none

    type(TidingsTasksOptions) :: options
    type(TidingsTasksError) :: error
    type(TidingsTasksSubmission) :: task
    type(TidingsTasksId) :: id
    type(c_ptr) :: tasks, tuple, claim, flow
    type(TidingsTasksField), pointer :: found(:)
    integer(c_size_t) :: count
    character(kind=c_char), target :: name(4) = ['j', 'o', 'b', c_null_char]
    character(kind=c_char), target :: space(2) = ['s', c_null_char]
    character(kind=c_char), target :: queue(2) = ['q', c_null_char]
    character(kind=c_char), target :: function(5) = ['s', 'u', 'm', 's', c_null_char]

    call ok(tidings_tasks_open(options, tasks, error))
    call every_kind_of_field_comes_back()
    call what_is_pulled_is_consumed()
    call a_statement_is_done_whole()
    call a_task_puts_what_it_makes()
    call a_flow_is_done()
    call tidings_tasks_close(tasks)
    print '(a)', 'done'

contains

    subroutine ok(status)
        integer(c_int), intent(in) :: status

        if (status == TIDINGS_TASKS_STATUS_OK) return
        print '(a)', tidings_words(error%text)
        error stop 1
    end subroutine

    function job(number) result(fields)
        integer, intent(in) :: number
        type(TidingsTasksField) :: fields(2)

        fields(1) = TidingsTasksField(kind=TIDINGS_TASKS_TEXT, bytes=c_loc(name))
        fields(2) = TidingsTasksField(kind=TIDINGS_TASKS_INT, integer=int(number, c_int64_t))
    end function

    ! A template of jobs with any number.
    function any_job() result(fields)
        type(TidingsTasksField) :: fields(2)

        fields = job(0)
        fields(2)%is_open = .true._c_bool
    end function

    subroutine put(number)
        integer, intent(in) :: number

        call ok(tidings_tasks_tuple_put(tasks, space, job(number), 2_c_size_t, error))
    end subroutine

    ! Pulls a job at once, whose number must be this.
    subroutine pull(number)
        integer, intent(in) :: number

        call ok(tidings_tasks_tuple_pull(tasks, c_null_ptr, space, any_job(), 2_c_size_t, &
            0_c_int64_t, tuple, error))
        call is_found(number)
    end subroutine

    subroutine is_found(number)
        integer, intent(in) :: number

        call c_f_pointer(tidings_tasks_tuple_fields(tuple, count), found, [2])
        if (count /= 2 .or. found(2)%integer /= number) error stop 'the tuple is another one'
    end subroutine

    subroutine every_kind_of_field_comes_back()
        character(kind=c_char), target :: bytes(3) = ['a', c_null_char, 'b']
        type(TidingsTasksField) :: fields(5), wanted(5)
        integer :: i

        fields(1) = TidingsTasksField(kind=TIDINGS_TASKS_INT, integer=-7_c_int64_t)
        fields(2) = TidingsTasksField(kind=TIDINGS_TASKS_FLOAT, number=0.5_c_double)
        fields(3) = TidingsTasksField(kind=TIDINGS_TASKS_TEXT, bytes=c_loc(name))
        fields(4) = TidingsTasksField(kind=TIDINGS_TASKS_BYTES, bytes=c_loc(bytes), count=3_c_size_t)
        fields(5) = TidingsTasksField(kind=TIDINGS_TASKS_BOOL, integer=1_c_int64_t)
        wanted%kind = TIDINGS_TASKS_WILDCARD
        call ok(tidings_tasks_tuple_put(tasks, tidings_text('kinds'), fields, 5_c_size_t, error))
        call ok(tidings_tasks_tuple_read(tasks, tidings_text('kinds'), wanted, 5_c_size_t, &
            TIDINGS_TASKS_FOREVER, tuple, error))
        call c_f_pointer(tidings_tasks_tuple_fields(tuple, count), found, [5])
        do i = 1, 5
            if (found(i)%kind /= i - 1) error stop 'a field is of another kind'
        end do
        if (found(1)%integer /= -7 .or. abs(found(2)%number - 0.5) > 0) error stop 'another number'
        if (found(3)%count /= 3 .or. found(4)%count /= 3) error stop 'another length'
        if (found(5)%integer /= 1) error stop 'it is not true'
        call tidings_tasks_tuple_free(tuple)
    end subroutine

    subroutine what_is_pulled_is_consumed()
        call put(1)
        call pull(1)
        ! Given back it is there again.
        call tidings_tasks_tuple_free(tuple)
        call ok(tidings_tasks_tuple_pull(tasks, c_null_ptr, space, any_job(), 2_c_size_t, &
            TIDINGS_TASKS_FOREVER, tuple, error))
        call is_found(1)
        call ok(tidings_tasks_tuple_consume(tuple, error))
        call tidings_tasks_tuple_free(tuple)
        if (tidings_tasks_tuple_pull(tasks, c_null_ptr, space, any_job(), 2_c_size_t, 0_c_int64_t, &
            tuple, error) /= TIDINGS_TASKS_STATUS_TIMEOUT) error stop 'it was pulled twice'
    end subroutine

    ! A job becomes another one in one commit.
    subroutine a_statement_is_done_whole()
        type(TidingsTasksField), target :: wanted(2), made(2)
        type(TidingsTasksIn), target :: ins(1)
        type(TidingsTasksOut), target :: outs(1)
        type(TidingsTasksStatement) :: statement
        type(c_ptr) :: got(1)

        wanted = any_job()
        made = job(9)
        ins(1) = TidingsTasksIn(c_loc(space), c_loc(wanted), 2_c_size_t, .true._c_bool)
        outs(1) = TidingsTasksOut(c_loc(space), c_loc(made), 2_c_size_t)
        statement%ins = c_loc(ins)
        statement%in_count = 1
        statement%outs = c_loc(outs)
        statement%out_count = 1
        statement%consumes = .true._c_bool
        if (tidings_tasks_statement(tasks, c_null_ptr, statement, 0_c_int64_t, got, error) /= &
            TIDINGS_TASKS_STATUS_TIMEOUT) error stop 'there was no job'
        call put(2)
        call ok(tidings_tasks_statement(tasks, c_null_ptr, statement, 0_c_int64_t, got, error))
        tuple = got(1)
        call is_found(2)
        call tidings_tasks_tuple_free(tuple)
        call pull(9)
        call ok(tidings_tasks_tuple_consume(tuple, error))
        call tidings_tasks_tuple_free(tuple)
    end subroutine

    ! What a task pulls is consumed, and what it makes put, when it is done.
    subroutine a_task_puts_what_it_makes()
        integer(c_size_t) :: added

        call put(3)
        call ok(tidings_tasks_id(queue, 1_c_int64_t, task%id, error))
        task%queue = c_loc(queue)
        call ok(tidings_tasks_submit(tasks, [task], 1_c_size_t, added, error))
        call ok(tidings_tasks_claim(tasks, queue, TIDINGS_TASKS_FOREVER, claim, error))
        call ok(tidings_tasks_tuple_pull(tasks, claim, space, any_job(), 2_c_size_t, 0_c_int64_t, &
            tuple, error))
        call is_found(3)
        call ok(tidings_tasks_tuple_effect(claim, space, job(4), 2_c_size_t, error))
        call ok(tidings_tasks_complete(claim, c_null_ptr, 0_c_size_t, error))
        call tidings_tasks_tuple_free(tuple)
        call pull(4)
        call ok(tidings_tasks_tuple_consume(tuple, error))
        call tidings_tasks_tuple_free(tuple)
    end subroutine

    ! Item 1 and 2 are added to item 7, and 2 moves on to 3.
    subroutine a_flow_is_done()
        type(TidingsTasksDependency) :: item
        type(TidingsTasksDeclared) :: sum
        type(TidingsTasksFunction) :: functions(1)
        integer(c_int64_t), target :: one = 1, seven = 7
        type(TidingsTasksField) :: two(1)

        two(1) = TidingsTasksField(kind=TIDINGS_TASKS_INT, integer=2_c_int64_t)
        call ok(tidings_tasks_flow(tasks, queue, tidings_text('fortran'), flow, error))
        call ok(tidings_tasks_dependency_declare(flow, tidings_text('item'), [TIDINGS_TASKS_INT], &
            1_c_size_t, item, error))
        call ok(tidings_tasks_task_declare(flow, function, [TIDINGS_TASKS_INT], 1_c_size_t, &
            c_null_ptr, sum, error))
        call ok(tidings_tasks_append_inout_dependency(flow, sum, item, c_funloc(constant), &
            c_loc(seven), error))
        call ok(tidings_tasks_append_read_dependency(flow, sum, item, c_funloc(constant), &
            c_loc(one), error))
        call ok(tidings_tasks_append_migrate_dependency(flow, sum, item, c_funloc(first), &
            c_funloc(next), c_null_ptr, error))
        call give(item, 1_c_int64_t, 10_c_int64_t)
        call give(item, 2_c_int64_t, 20_c_int64_t)
        call give(item, 7_c_int64_t, 70_c_int64_t)
        call ok(tidings_tasks_flow_submit(flow, sum, two, 1_c_size_t, id, error))
        call ok(tidings_tasks_flow_send(flow, error))
        functions(1) = TidingsTasksFunction(c_loc(function), c_funloc(sums), c_null_ptr)
        call ok(tidings_tasks_work(tasks, queue, functions, 1_c_size_t, TIDINGS_TASKS_FOREVER, error))
        call has(item, 7_c_int64_t, 102_c_int64_t)
        call has(item, 3_c_int64_t, 20_c_int64_t)
        ! What a task of the store has made is an instance too.
        call ok(tidings_tasks_flow_put_task(flow, item, key_of(8_c_int64_t), 1_c_size_t, id, error))
        call has(item, 8_c_int64_t, 102_c_int64_t)
        call ok(tidings_tasks_flow_forget(flow, error))
        call tidings_tasks_flow_free(c_null_ptr)
    end subroutine

    function key_of(number) result(key)
        integer(c_int64_t), intent(in) :: number
        type(TidingsTasksField) :: key(1)

        key(1) = TidingsTasksField(kind=TIDINGS_TASKS_INT, integer=number)
    end function

    subroutine give(item, key, value)
        type(TidingsTasksDependency), intent(in) :: item
        integer(c_int64_t), intent(in) :: key, value
        integer(c_int64_t), target :: content

        content = value
        call ok(tidings_tasks_flow_put(flow, item, key_of(key), 1_c_size_t, c_loc(content), &
            c_sizeof(content), error))
    end subroutine

    subroutine has(item, key, value)
        type(TidingsTasksDependency), intent(in) :: item
        integer(c_int64_t), intent(in) :: key, value
        type(c_ptr) :: bytes
        integer(c_int64_t), pointer :: content

        call ok(tidings_tasks_flow_get(flow, item, key_of(key), 1_c_size_t, TIDINGS_TASKS_FOREVER, &
            bytes, count, error))
        call c_f_pointer(bytes, content)
        if (count /= c_sizeof(content) .or. content /= value) error stop 'the instance is another one'
    end subroutine
end program
