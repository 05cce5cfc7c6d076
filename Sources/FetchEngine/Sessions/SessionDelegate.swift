/// Is asked and told about a session, and about those of its tasks that have no delegate of their own.
public protocol SessionDelegate: TaskDelegate {
    /// A challenge of session level: NTLM, Negotiate, client certificate or server trust.
    func session(_ session: Session, didReceive challenge: Challenge) async -> Challenge.Disposition

    /// A task was made.
    func session(_ session: Session, didCreate task: SessionTask) async

    /// All events of a background session have been delivered.
    func sessionDidFinishEventsForBackgroundSession(_ session: Session) async

    /// The session was invalidated and its last task is over: the last call of all.
    func session(_ session: Session, didBecomeInvalidWith error: LoadError?) async
}

extension SessionDelegate {
    /// Leaves it to the task's delegate.
    public func session(_ session: Session, didReceive challenge: Challenge) async -> Challenge.Disposition {
        .performDefaultHandling
    }

    /// Ignores it.
    public func session(_ session: Session, didCreate task: SessionTask) async {}

    /// Ignores it.
    public func sessionDidFinishEventsForBackgroundSession(_ session: Session) async {}

    /// Ignores it.
    public func session(_ session: Session, didBecomeInvalidWith error: LoadError?) async {}
}
