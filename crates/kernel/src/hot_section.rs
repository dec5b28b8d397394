//! Holds the promise that hot loops never allocate.
//!
//! A loop runs inside [`enter`]; a test that makes [`PanickingAllocator`] its global allocator then panics at any
//! allocation inside. In the product the flag is set and nobody looks.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // Const-initialized and without a destructor: reading it allocates nothing.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs a hot loop.
#[inline(always)]
pub fn enter<R>(hot: impl FnOnce() -> R) -> R {
    INSIDE.with(|inside| inside.set(true));
    let result = hot();
    INSIDE.with(|inside| inside.set(false));
    result
}

/// The system's allocator, save that it panics inside [`enter`].
#[derive(Clone, Copy, Debug, Default)]
pub struct PanickingAllocator;

fn check(what: &str) {
    // Taken, since the panic itself has to allocate.
    if INSIDE.with(Cell::take) {
        panic!("a hot loop {what} memory");
    }
}

// SAFETY: every call is handed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for PanickingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        check("allocated");
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        check("freed");
        // SAFETY: the caller keeps the contract of `dealloc`, and all memory came from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}
