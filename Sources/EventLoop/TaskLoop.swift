/// An event loop that tasks may prefer: their non-isolated steps run on its thread, and they call its actors without
/// any hop.
///
/// Swift compares a job's loop with its task's preference at each call of an isolated function. Here a task without the
/// preference pays a turn of the loop for each call, as a task with a preference does on a plain loop. On either loop,
/// code that must not be interrupted therefore has no `await`, not even of a function of the same actor.
package final class TaskLoop: EventLoop, TaskExecutor, @unchecked Sendable {
    package func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }

    /// Whether the waits of the present task end on this loop's thread already.
    package var isPreferred: Bool {
        withUnsafeCurrentTask { $0?.unownedTaskExecutor == asUnownedTaskExecutor() }
    }

    override func run(_ job: UnownedJob) {
        job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
    }
}
