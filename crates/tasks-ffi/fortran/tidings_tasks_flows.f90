! Flows for Fortran: those of tidings_tasks.h by bind(C), under the same names. The header says what
! each function does. A key is computed by a subroutine, which `c_funloc` passes on:
!
!     subroutine cell_of(n, key, context) bind(C)
!         type(TidingsTasksField), intent(in) :: n(*)
!         type(TidingsTasksField), intent(inout) :: key(*)
!         type(c_ptr), value :: context
!         key(1)%integer = n(1)%integer
!     end subroutine
!
! A program compiles this file behind tidings_tasks.f90 and tidings_tasks_tuples.f90.

module tidings_tasks_flows
    use, intrinsic :: iso_c_binding
    use tidings_tasks
    use tidings_tasks_tuples, only: TidingsTasksField
    implicit none
    private

    public :: tidings_tasks_flow, tidings_tasks_flow_free, tidings_tasks_flow_forget
    public :: tidings_tasks_dependency_declare, tidings_tasks_task_declare
    public :: tidings_tasks_append_read_dependency, tidings_tasks_append_inout_dependency
    public :: tidings_tasks_append_migrate_dependency
    public :: tidings_tasks_flow_put, tidings_tasks_flow_put_task, tidings_tasks_flow_submit
    public :: tidings_tasks_flow_send, tidings_tasks_flow_get
    public :: tidings_tasks_flow_arguments, tidings_tasks_flow_instance
    public :: tidings_tasks_flow_result, tidings_tasks_flow_complete

    type, bind(C), public :: TidingsTasksDependency
        type(c_ptr) :: flow = c_null_ptr
        integer(c_size_t) :: number = 0
    end type

    type, bind(C), public :: TidingsTasksDeclared
        type(c_ptr) :: flow = c_null_ptr
        integer(c_size_t) :: number = 0
    end type

    interface
        integer(c_int) function tidings_tasks_flow(tasks, queue, name, flow, error) bind(C)
            import
            type(c_ptr), value :: tasks
            character(kind=c_char), intent(in) :: queue(*)
            character(kind=c_char), intent(in) :: name(*)
            type(c_ptr), intent(out) :: flow
            type(TidingsTasksError), intent(out) :: error
        end function

        subroutine tidings_tasks_flow_free(flow) bind(C)
            import
            type(c_ptr), value :: flow
        end subroutine

        integer(c_int) function tidings_tasks_flow_forget(flow, error) bind(C)
            import
            type(c_ptr), value :: flow
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_dependency_declare(flow, name, kinds, count, &
                dependency, error) bind(C)
            import
            type(c_ptr), value :: flow
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int32_t), intent(in) :: kinds(*)
            integer(c_size_t), value :: count
            type(TidingsTasksDependency), intent(out) :: dependency
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_task_declare(flow, function, kinds, count, like, task, &
                error) bind(C)
            import
            type(c_ptr), value :: flow
            character(kind=c_char), intent(in) :: function(*)
            integer(c_int32_t), intent(in) :: kinds(*)
            integer(c_size_t), value :: count
            type(c_ptr), value :: like
            type(TidingsTasksDeclared), intent(out) :: task
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_append_read_dependency(flow, task, kind, key, context, &
                error) bind(C)
            import
            type(c_ptr), value :: flow
            type(TidingsTasksDeclared), value :: task
            type(TidingsTasksDependency), value :: kind
            type(c_funptr), value :: key
            type(c_ptr), value :: context
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_append_inout_dependency(flow, task, kind, key, &
                context, error) bind(C)
            import
            type(c_ptr), value :: flow
            type(TidingsTasksDeclared), value :: task
            type(TidingsTasksDependency), value :: kind
            type(c_funptr), value :: key
            type(c_ptr), value :: context
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_append_migrate_dependency(flow, task, kind, key, to, &
                context, error) bind(C)
            import
            type(c_ptr), value :: flow
            type(TidingsTasksDeclared), value :: task
            type(TidingsTasksDependency), value :: kind
            type(c_funptr), value :: key
            type(c_funptr), value :: to
            type(c_ptr), value :: context
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_flow_put(flow, dependency, key, key_count, bytes, &
                count, error) bind(C)
            import
            type(c_ptr), value :: flow
            type(TidingsTasksDependency), value :: dependency
            type(TidingsTasksField), intent(in) :: key(*)
            integer(c_size_t), value :: key_count
            type(c_ptr), value :: bytes
            integer(c_size_t), value :: count
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_flow_put_task(flow, dependency, key, key_count, id, &
                error) bind(C)
            import
            type(c_ptr), value :: flow
            type(TidingsTasksDependency), value :: dependency
            type(TidingsTasksField), intent(in) :: key(*)
            integer(c_size_t), value :: key_count
            type(TidingsTasksId), intent(in) :: id
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_flow_submit(flow, task, arguments, count, id, error) &
                bind(C)
            import
            type(c_ptr), value :: flow
            type(TidingsTasksDeclared), value :: task
            type(TidingsTasksField), intent(in) :: arguments(*)
            integer(c_size_t), value :: count
            type(TidingsTasksId), intent(out) :: id
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_flow_send(flow, error) bind(C)
            import
            type(c_ptr), value :: flow
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_flow_get(flow, dependency, key, key_count, timeout_ms, &
                bytes, count, error) bind(C)
            import
            type(c_ptr), value :: flow
            type(TidingsTasksDependency), value :: dependency
            type(TidingsTasksField), intent(in) :: key(*)
            integer(c_size_t), value :: key_count
            integer(c_int64_t), value :: timeout_ms
            type(c_ptr), intent(out) :: bytes
            integer(c_size_t), intent(out) :: count
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_flow_arguments(claim, arguments, count, error) bind(C)
            import
            type(c_ptr), value :: claim
            type(c_ptr), intent(out) :: arguments
            integer(c_size_t), intent(out) :: count
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_flow_instance(claim, number, bytes, count, error) &
                bind(C)
            import
            type(c_ptr), value :: claim
            integer(c_size_t), value :: number
            type(c_ptr), intent(out) :: bytes
            integer(c_size_t), intent(out) :: count
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_flow_result(result, versions, count, error) bind(C)
            import
            type(c_ptr), value :: result
            type(TidingsTasksBytes), intent(in) :: versions(*)
            integer(c_size_t), value :: count
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_flow_complete(claim, versions, count, error) bind(C)
            import
            type(c_ptr), value :: claim
            type(TidingsTasksBytes), intent(in) :: versions(*)
            integer(c_size_t), value :: count
            type(TidingsTasksError), intent(out) :: error
        end function
    end interface
end module
