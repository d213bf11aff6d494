! Blocks in Fortran. usage: blocks FILE
program blocks
  use, intrinsic :: iso_fortran_env, only: int64, real64, error_unit
  use tidings_scaling
  implicit none
  character(len=1000) :: path
  integer :: n
  call get_command_argument(1, path)
  if (.not. scaling_open(path, "n", "a run")) then
    write (error_unit, '(a)') scaling_fault()
    stop 2
  end if
  n = 64
  do while (n <= 1024)
    call scaling_begin("fortran", n)
    call scaling_count("steps", real(n, real64))
    call scaling_end()
    call scaling_begin("wide", int(n, int64))
    call scaling_end()
    call scaling_value("given", "depth", real(n, real64), 2.0_real64 * n, "m")
    n = 2 * n
  end do
  if (.not. scaling_close()) then
    write (error_unit, '(a)') scaling_fault()
    stop 1
  end if
end program
