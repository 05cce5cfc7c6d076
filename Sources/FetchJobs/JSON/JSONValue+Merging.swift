extension JSONValue {
    /// The value with a merge patch applied to it (RFC 7396): null takes a member away.
    package func merging(_ patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var members: [JSONMember] = if case .object(let members) = self { members } else { [] }
        for change in changes {
            let index = members.firstIndex { $0.name == change.name }
            if change.value == .null {
                if let index { members.remove(at: index) }
                continue
            }
            let old = index.map { members[$0].value } ?? .null
            let member = JSONMember(change.name, old.merging(change.value))
            if let index { members[index] = member } else { members.append(member) }
        }
        return .object(members)
    }
}
