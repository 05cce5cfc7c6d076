import FetchJobs

extension Aria2Methods {
    /// Of so many downloads that wait the order is looked at: the oldest, behind which all others go by age.
    private static let maximumInOrder = 1000

    /// Downloads that wait, in the order in which they begin: all that are looked at, and more where so many are wanted.
    ///
    /// - Parameter isBackward: Whether the last one comes first.
    func waiting(atLeast count: Int, isBackward: Bool, _ caller: Aria2Caller) async throws -> [Job.ID] {
        guard isBackward else {
            let oldest = try await waitingByAge(max(Self.maximumInOrder, count), isBackward: false, caller)
            return try await inOrder(Array(oldest.prefix(Self.maximumInOrder)), caller)
                + oldest.dropFirst(Self.maximumInOrder)
        }
        // With more than are looked at, the last ones go by age.
        let newest = try await waitingByAge(max(Self.maximumInOrder + 1, count), isBackward: true, caller)
        guard newest.count <= Self.maximumInOrder else { return newest }
        return try await inOrder(newest, caller).reversed()
    }

    private func waitingByAge(_ count: Int, isBackward: Bool, _ caller: Aria2Caller) async throws -> [Job.ID] {
        let page = JobPage(limit: count, at: isBackward ? .start : .before(.first))
        let filter = Self.filter(Aria2Download.waitingStates)
        let newest = try await jobs.jobs(of: caller.tenant, matching: filter, page: page).map(\.id)
        return isBackward ? newest : newest.reversed()
    }

    /// Those that wait for their next attempt come last.
    private func inOrder(_ ids: [Job.ID], _ caller: Aria2Caller) async throws -> [Job.ID] {
        let ordered = try await jobs.order(ids, of: caller.tenant)
        let known = Set(ordered)
        return ordered + ids.filter { !known.contains($0) }
    }

    func changePosition(_ arguments: Aria2Arguments, _ caller: Aria2Caller) async throws -> RawJSON {
        _ = try arguments.text(0)
        let offset = Int(Int32(clamping: try arguments.integer(1)))
        let origin = try arguments.text(2)
        let download = try await find(arguments, caller)
        let place = try await move(download.job.id, caller) { current, last in
            switch origin {
            case "POS_SET": offset
            case "POS_CUR": current + offset
            case "POS_END": last + offset
            default: throw Aria2Failure.illegalArgument
            }
        }
        guard let place else { throw Aria2Failure("GID#\(download.gid) not found in the waiting queue.") }
        return RawJSON(Array("\(place)".utf8))
    }

    /// Moves a download that waits among all that do.
    ///
    /// - Parameter target: The new place, as far as there is one, from the present one and the last one.
    /// - Returns: The place that it has then; nil for one that does not wait for its turn.
    @discardableResult
    func move(
        _ id: Job.ID, _ caller: Aria2Caller, to target: (_ current: Int, _ last: Int) throws -> Int
    ) async throws -> Int? {
        let oldest = try await waitingByAge(Self.maximumInOrder, isBackward: false, caller)
        var order = try await jobs.order(oldest.contains(id) ? oldest : oldest + [id], of: caller.tenant)
        guard let current = order.firstIndex(of: id) else { return nil }
        let place = min(max(0, try target(current, order.count - 1)), order.count - 1)
        order.remove(at: current)
        order.insert(id, at: place)
        if place != current { try await jobs.reorder(order, of: caller.tenant) }
        return place
    }
}
