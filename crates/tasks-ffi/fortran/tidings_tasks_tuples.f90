! Tuples for Fortran: those of tidings_tasks.h by bind(C), under the same names. The header says what
! each function does. A field is made by its constructor, and of what a tuple has `c_f_pointer` makes
! an array:
!
!     fields = [TidingsTasksField(kind=TIDINGS_TASKS_TEXT, bytes=c_loc(name)), &
!         TidingsTasksField(kind=TIDINGS_TASKS_INT, integer=7)]
!     call c_f_pointer(tidings_tasks_tuple_fields(tuple, count), found, [count])
!
! A program compiles this file behind tidings_tasks.f90.

module tidings_tasks_tuples
    use, intrinsic :: iso_c_binding
    use tidings_tasks
    implicit none
    private

    public :: tidings_tasks_tuple_put, tidings_tasks_tuple_effect, tidings_tasks_tuple_read
    public :: tidings_tasks_tuple_pull, tidings_tasks_statement, tidings_tasks_tuple_fields
    public :: tidings_tasks_tuple_consume, tidings_tasks_tuple_free

    ! What a field is, and in templates: anything; in what a statement puts: a field that it found.
    integer(c_int32_t), parameter, public :: TIDINGS_TASKS_INT = 0
    integer(c_int32_t), parameter, public :: TIDINGS_TASKS_FLOAT = 1
    integer(c_int32_t), parameter, public :: TIDINGS_TASKS_TEXT = 2
    integer(c_int32_t), parameter, public :: TIDINGS_TASKS_BYTES = 3
    integer(c_int32_t), parameter, public :: TIDINGS_TASKS_BOOL = 4
    integer(c_int32_t), parameter, public :: TIDINGS_TASKS_WILDCARD = 5
    integer(c_int32_t), parameter, public :: TIDINGS_TASKS_FOUND = 6
    integer(c_int32_t), parameter, public :: TIDINGS_TASKS_HANDLE = 7

    type, bind(C), public :: TidingsTasksField
        integer(c_int32_t) :: kind = TIDINGS_TASKS_INT
        logical(c_bool) :: is_open = .false._c_bool
        integer(c_int64_t) :: integer = 0
        real(c_double) :: number = 0
        type(c_ptr) :: bytes = c_null_ptr
        integer(c_size_t) :: count = 0
    end type

    type, bind(C), public :: TidingsTasksIn
        type(c_ptr) :: space = c_null_ptr
        type(c_ptr) :: pattern = c_null_ptr
        integer(c_size_t) :: count = 0
        logical(c_bool) :: is_pulled = .false._c_bool
    end type

    type, bind(C), public :: TidingsTasksOut
        type(c_ptr) :: space = c_null_ptr
        type(c_ptr) :: fields = c_null_ptr
        integer(c_size_t) :: count = 0
    end type

    type, bind(C), public :: TidingsTasksStatement
        type(c_ptr) :: ins = c_null_ptr
        integer(c_size_t) :: in_count = 0
        type(c_ptr) :: outs = c_null_ptr
        integer(c_size_t) :: out_count = 0
        type(c_ptr) :: consumed = c_null_ptr
        integer(c_size_t) :: consumed_count = 0
        logical(c_bool) :: consumes = .false._c_bool
    end type

    interface
        integer(c_int) function tidings_tasks_tuple_put(tasks, space, fields, count, error) bind(C)
            import
            type(c_ptr), value :: tasks
            character(kind=c_char), intent(in) :: space(*)
            type(TidingsTasksField), intent(in) :: fields(*)
            integer(c_size_t), value :: count
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_tuple_effect(claim, space, fields, count, error) bind(C)
            import
            type(c_ptr), value :: claim
            character(kind=c_char), intent(in) :: space(*)
            type(TidingsTasksField), intent(in) :: fields(*)
            integer(c_size_t), value :: count
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_tuple_read(tasks, space, pattern, count, timeout_ms, &
                tuple, error) bind(C)
            import
            type(c_ptr), value :: tasks
            character(kind=c_char), intent(in) :: space(*)
            type(TidingsTasksField), intent(in) :: pattern(*)
            integer(c_size_t), value :: count
            integer(c_int64_t), value :: timeout_ms
            type(c_ptr), intent(out) :: tuple
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_tuple_pull(tasks, claim, space, pattern, count, &
                timeout_ms, tuple, error) bind(C)
            import
            type(c_ptr), value :: tasks
            type(c_ptr), value :: claim
            character(kind=c_char), intent(in) :: space(*)
            type(TidingsTasksField), intent(in) :: pattern(*)
            integer(c_size_t), value :: count
            integer(c_int64_t), value :: timeout_ms
            type(c_ptr), intent(out) :: tuple
            type(TidingsTasksError), intent(out) :: error
        end function

        integer(c_int) function tidings_tasks_statement(tasks, claim, statement, timeout_ms, found, &
                error) bind(C)
            import
            type(c_ptr), value :: tasks
            type(c_ptr), value :: claim
            type(TidingsTasksStatement), intent(in) :: statement
            integer(c_int64_t), value :: timeout_ms
            type(c_ptr), intent(out) :: found(*)
            type(TidingsTasksError), intent(out) :: error
        end function

        type(c_ptr) function tidings_tasks_tuple_fields(tuple, count) bind(C)
            import
            type(c_ptr), value :: tuple
            integer(c_size_t), intent(out) :: count
        end function

        integer(c_int) function tidings_tasks_tuple_consume(tuple, error) bind(C)
            import
            type(c_ptr), value :: tuple
            type(TidingsTasksError), intent(out) :: error
        end function

        subroutine tidings_tasks_tuple_free(tuple) bind(C)
            import
            type(c_ptr), value :: tuple
        end subroutine
    end interface
end module
