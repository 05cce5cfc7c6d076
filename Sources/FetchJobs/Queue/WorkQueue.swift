/// The jobs, as a worker sees them; each part of it asks for the role that it needs.
package typealias WorkQueue = JobAdmission & JobClaiming & JobLifeCycle & QueueMaintenance
