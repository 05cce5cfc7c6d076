/// Decides about a session, is notified of its events, and of those of its tasks that have no delegate of their own.
public protocol SessionDelegate: TaskDelegate {
    /// A challenge of session level: NTLM, Negotiate, client certificate or server trust.
    nonisolated(nonsending) func session(_ session: Session, didReceive challenge: Challenge) async
        -> Challenge.Disposition

    /// A task was made.
    nonisolated(nonsending) func session(_ session: Session, didCreate task: SessionTask) async

    /// All events of a background session have been delivered.
    nonisolated(nonsending) func sessionDidFinishEventsForBackgroundSession(_ session: Session) async

    /// The session was invalidated and its last task is over: the last call of all.
    nonisolated(nonsending) func session(_ session: Session, didBecomeInvalidWith error: LoadError?) async
}

extension SessionDelegate {
    /// Leaves it to the task's delegate.
    public nonisolated(nonsending) func session(_ session: Session, didReceive challenge: Challenge) async
        -> Challenge.Disposition
    {
        .performDefaultHandling
    }

    /// Wants to be asked about every kind.
    public nonisolated(nonsending) func task(_ task: SessionTask, canAuthenticateAgainst space: ProtectionSpace) async
        -> Bool
    { true }

    /// Ignores it.
    public nonisolated(nonsending) func session(_ session: Session, didCreate task: SessionTask) async {}

    /// Ignores it.
    public nonisolated(nonsending) func sessionDidFinishEventsForBackgroundSession(_ session: Session) async {}

    /// Ignores it.
    public nonisolated(nonsending) func session(_ session: Session, didBecomeInvalidWith error: LoadError?) async {}
}
