import EventLoop

/// Does things on a loop, after earlier work, and while it can do nothing else.
actor LoopHolder {
    private let loop: TaskLoop

    init(_ loop: TaskLoop) { self.loop = loop }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    func run<Result: Sendable>(_ body: @Sendable () -> Result) -> Result { body() }
}
