import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The nodes in PostgreSQL and those in memory keep the same promises.
@Suite struct NodeDirectoryContractTests {
    private let url = "http://10.0.0.1:8080"

    @Test("the nodes in memory keep the promise", arguments: NodeDirectoryContract.clauses)
    func memory(_ clause: Clause<NodeDirectoryContract.Subject>) async throws {
        let nodes = MemoryNodes()
        let (remote, unreachable) = (NodeAddress(id: Node.ID(), url: url), NodeAddress(id: Node.ID(), url: nil))
        let jobs = [Job.ID(), Job.ID()]
        nodes.add(remote, of: jobs[0], .first)
        nodes.add(unreachable, of: jobs[1], .first)
        let volumes = (Volume.new(), Volume.new(), Volume.new())
        nodes.add(remote, with: volumes.0)
        for volume in [volumes.1, volumes.2] { nodes.add(nil, with: volume) }
        let subject = NodeDirectoryContract.Subject(
            directory: nodes, remote: (jobs[0], remote), unreachable: (jobs[1], unreachable.id), own: Job.ID(),
            waiting: Job.ID(), volumes: volumes)
        #expect(try await clause.differences(in: subject) == [])
    }

    @Test("the nodes in PostgreSQL keep the promise", arguments: NodeDirectoryContract.clauses)
    func postgres(_ clause: Clause<NodeDirectoryContract.Subject>) async throws {
        try await StoreFixture.with { fixture in
            let (client, dead) = (fixture.database.client, Node.ID())
            let other = fixture.queue(1, listeningAt: url)
            for queue in [fixture.queue(), other] { _ = try await queue.heartbeat() }
            // It had an address, and its lease has run out.
            let left = Volume.new()
            try await client.query(
                """
                INSERT INTO nodes (id, lease_until, url, volume, roles)
                VALUES (\(dead), now() - interval '1 second', \(url), \(Int64(left.number)), '{}')
                """)
            var jobs: [Job.ID] = []
            for queue in [other, fixture.queue(), other] {
                _ = try await fixture.store().enqueue([try NewJob.make()])
                jobs += try await queue.claim(limit: 1).map(\.id)
            }
            try await client.query("UPDATE queue SET node_id = \(dead) WHERE job_id = \(jobs[2])")
            let waiting = try NewJob.make()
            _ = try await fixture.store().enqueue([waiting])
            let subject = NodeDirectoryContract.Subject(
                directory: PostgresNodeDirectory(client: client, node: fixture.nodes[0]),
                remote: (jobs[0], NodeAddress(id: fixture.nodes[1], url: url)), unreachable: (jobs[2], dead),
                own: jobs[1], waiting: waiting.id, volumes: (fixture.volumes[1], fixture.volumes[0], left))
            let differences = try await clause.differences(in: subject)
            #expect(differences == [])
        }
    }
}
