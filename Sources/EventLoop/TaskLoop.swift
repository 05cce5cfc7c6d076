/// An event loop that tasks may prefer: their non-isolated steps run on its thread, and they call its actors without
/// any hop.
///
/// Swift compares a job's loop with its task's preference at each call of an isolated function. Here a task without the
/// preference pays a turn of the loop for each of them, as on a plain loop one with a preference does; so whatever the
/// loop, what must not be interrupted has no `await` in it, not even of a function of the same actor.
package final class TaskLoop: EventLoop, TaskExecutor, @unchecked Sendable {
    package func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }

    override func run(_ job: UnownedJob) {
        job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
    }
}
