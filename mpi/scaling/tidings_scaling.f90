! tidings_scaling: measurements of growth by programs in Fortran, for the command tidings-scaling.
!
!     use tidings_scaling
!     if (.not. scaling_open("sort.jsonl", "n")) stop 1
!     call scaling_begin("sort", n)
!     call sort(values(:n))
!     call scaling_end()
!     if (.not. scaling_close()) stop scaling_fault()
!
! tidings_scaling.h describes each call. Sizes are integers or of double precision.
module tidings_scaling
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  implicit none
  private
  public :: scaling_open, scaling_close, scaling_fault, scaling_begin, scaling_end, scaling_count, &
            scaling_value

  interface scaling_begin
    module procedure begin_real, begin_int32, begin_int64
  end interface

  interface
    function c_open(path, parameter, run) bind(c, name="tidings_scaling_open") result(opened)
      import :: c_ptr, c_bool
      type(c_ptr), value :: path, parameter, run
      logical(c_bool) :: opened
    end function
    function c_close() bind(c, name="tidings_scaling_close") result(closed)
      import :: c_bool
      logical(c_bool) :: closed
    end function
    function c_fault() bind(c, name="tidings_scaling_fault") result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function
    function c_begin(name, size) bind(c, name="tidings_scaling_begin") result(begun)
      import :: c_char, c_double, c_bool
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: size
      logical(c_bool) :: begun
    end function
    function c_end() bind(c, name="tidings_scaling_end") result(ended)
      import :: c_bool
      logical(c_bool) :: ended
    end function
    subroutine c_count(metric, more) bind(c, name="tidings_scaling_count")
      import :: c_char, c_double
      character(kind=c_char), intent(in) :: metric(*)
      real(c_double), value :: more
    end subroutine
    subroutine c_value(name, metric, size, measured, unit) bind(c, name="tidings_scaling_value")
      import :: c_char, c_double
      character(kind=c_char), intent(in) :: name(*), metric(*), unit(*)
      real(c_double), value :: size, measured
    end subroutine
    function c_length(text) bind(c, name="strlen") result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
  end interface

contains

  ! An empty path or run is what tidings_scaling.h says of NULL.
  function scaling_open(path, parameter, run) result(opened)
    character(len=*), intent(in) :: path, parameter
    character(len=*), intent(in), optional :: run
    character(kind=c_char, len=:), allocatable, target :: path_c, parameter_c, run_c
    type(c_ptr) :: path_or_null, run_or_null
    logical :: opened
    path_c = trim(path) // c_null_char
    parameter_c = trim(parameter) // c_null_char
    path_or_null = c_null_ptr
    run_or_null = c_null_ptr
    if (len_trim(path) > 0) path_or_null = c_loc(path_c)
    if (present(run)) then
      run_c = trim(run) // c_null_char
      if (len_trim(run) > 0) run_or_null = c_loc(run_c)
    end if
    opened = c_open(path_or_null, c_loc(parameter_c), run_or_null)
  end function

  function scaling_close() result(closed)
    logical :: closed
    closed = c_close()
  end function

  function scaling_fault() result(text)
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    type(c_ptr) :: there
    integer(c_size_t) :: at, length
    there = c_fault()
    length = c_length(there)
    call c_f_pointer(there, letters, [length])
    allocate (character(len=length) :: text)
    do at = 1, length
      text(at:at) = letters(at)
    end do
  end function

  subroutine begin_real(name, size)
    character(len=*), intent(in) :: name
    real(real64), intent(in) :: size
    logical(c_bool) :: begun
    begun = c_begin(trim(name) // c_null_char, real(size, c_double))
  end subroutine

  subroutine begin_int32(name, size)
    character(len=*), intent(in) :: name
    integer(int32), intent(in) :: size
    call begin_real(name, real(size, real64))
  end subroutine

  subroutine begin_int64(name, size)
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: size
    call begin_real(name, real(size, real64))
  end subroutine

  subroutine scaling_end()
    logical(c_bool) :: ended
    ended = c_end()
  end subroutine

  subroutine scaling_count(metric, more)
    character(len=*), intent(in) :: metric
    real(real64), intent(in) :: more
    call c_count(trim(metric) // c_null_char, real(more, c_double))
  end subroutine

  subroutine scaling_value(name, metric, size, measured, unit)
    character(len=*), intent(in) :: name, metric, unit
    real(real64), intent(in) :: size, measured
    call c_value(trim(name) // c_null_char, trim(metric) // c_null_char, real(size, c_double), &
                 real(measured, c_double), trim(unit) // c_null_char)
  end subroutine

end module tidings_scaling
