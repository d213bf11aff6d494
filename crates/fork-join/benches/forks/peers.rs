//! The same programs on other pools.

#[path = "../../tests/programs/mod.rs"]
pub(crate) mod programs;

use std::num::NonZero;

use programs::Fork;

/// Forks that are calls.
#[derive(Clone, Copy)]
pub(crate) struct InOrder;

impl Fork for InOrder {
    #[inline]
    fn both<R: Send>(
        self,
        one: impl FnOnce() -> R + Send,
        other: impl FnOnce() -> R + Send,
    ) -> (R, R) {
        (one(), other())
    }
}

/// Forks of rayon.
#[derive(Clone, Copy)]
pub(crate) struct Rayon;

impl Fork for Rayon {
    #[inline]
    fn both<R: Send>(
        self,
        one: impl FnOnce() -> R + Send,
        other: impl FnOnce() -> R + Send,
    ) -> (R, R) {
        rayon::join(one, other)
    }
}

/// Calls it in a pool of rayon that is made for it.
pub(crate) fn with_rayon<R: Send>(
    threads: usize,
    work: impl Fn() -> R + Send + Sync,
) -> impl FnMut() -> R {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    move || pool.install(&work)
}

/// Fibonacci numbers by chili's forks, which pass a scope along.
pub(crate) fn chili_fibonacci(threads: usize, n: u64) -> impl FnMut() -> u64 {
    fn below(scope: &mut chili::Scope<'_>, n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (one, other) = scope.join(|scope| below(scope, n - 1), |scope| below(scope, n - 2));
        one + other
    }
    // The thread that calls is one of them.
    let config = chili::Config {
        thread_count: Some(NonZero::new(threads).expect("some threads")),
        ..chili::Config::default()
    };
    let pool = chili::ThreadPool::with_config(config);
    move || below(&mut pool.scope(), n)
}
