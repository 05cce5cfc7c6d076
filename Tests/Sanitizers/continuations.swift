// ThreadSanitizer does not learn of every hand-over by a continuation: Swift's library tells it that whoever resumes one
// comes before what its task does next, but takes note of that only when the task was suspended meanwhile. One that is
// resumed before its task awaits it goes on at once, without a word, and what it hands over seems to be raced for. Linked
// into the tests, these stand before the library's own, do the same and tell the sanitizer.

@_silgen_name("__tsan_acquire") private func acquire(_ address: UnsafeRawPointer)

/// Takes note of whoever has resumed the running task: the library releases the task itself.
private func takeOver() {
    withUnsafeCurrentTask { task in
        if let task { acquire(unsafeBitCast(task, to: UnsafeRawPointer.self)) }
    }
}

@_silgen_name("$ss23withCheckedContinuation9isolation8function_xScA_pSgYi_SSyScCyxs5NeverOGXEtYalF")
public func withContinuation<T>(
    isolation: isolated (any Actor)?, function: String, _ body: (CheckedContinuation<T, Never>) -> Void
) async -> sending T {
    defer { takeOver() }
    return await withUnsafeContinuation { body(CheckedContinuation(continuation: $0, function: function)) }
}

@_silgen_name("$ss31withCheckedThrowingContinuation9isolation8function_xScA_pSgYi_SSyScCyxs5Error_pGXEtYaKlF")
public func withThrowingContinuation<T>(
    isolation: isolated (any Actor)?, function: String, _ body: (CheckedContinuation<T, any Error>) -> Void
) async throws -> sending T {
    defer { takeOver() }
    return try await withUnsafeThrowingContinuation {
        body(CheckedContinuation(continuation: $0, function: function))
    }
}
