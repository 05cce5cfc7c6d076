/// What a node does: by default everything, or a part that other nodes complete.
///
/// Each role may be on any number of nodes. Bodies, events of running jobs and live progress are asked of the node that
/// has them, whatever its roles are.
package enum NodeRole: String, Sendable, CaseIterable {
    /// Answers clients and shows the dashboard. Ephemeral sessions live, and their jobs run, where they were made.
    case api
    /// Claims jobs and runs them.
    case worker
    /// Sends webhooks.
    case courier
    /// Makes the jobs of schedules, tells of ends of sessions and groups, and removes what has expired.
    case scheduler
}
