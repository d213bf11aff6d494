//! What every `--help` says of exit codes.

/// The end of every `--help`; `docs/reference/exit-codes.md` says more.
macro_rules! exit_codes {
    () => {
        "\
Exit codes:
  0  done
  1  failed while running
  2  wrong usage or configuration
  3  no agent or store can be reached
  4  no such node, colony or task, or nothing matched"
    };
}
pub(crate) use exit_codes;
