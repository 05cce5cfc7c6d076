extension JSONValue {
    /// The value with a merge patch applied to it (RFC 7396): null takes a member away.
    package func merging(_ patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var members: [JSONMember?] = if case .object(let members) = self { members } else { [] }
        // Both may have a hundred thousand members.
        var places: [String: Int] = [:]
        for (place, member) in members.enumerated() { if let member { places[member.name] = place } }
        for change in changes {
            let place = places[change.name]
            let old = place.flatMap { members[$0]?.value } ?? .null
            let member = change.value == .null ? nil : JSONMember(change.name, old.merging(change.value))
            if let place { members[place] = member } else { members.append(member) }
        }
        return .object(members.compactMap(\.self))
    }
}
