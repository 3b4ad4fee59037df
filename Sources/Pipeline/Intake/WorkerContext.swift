package import Store

/// The dependencies of a worker's lanes.
package struct WorkerContext: Sendable {
    let store: any WorkerDatabase & OutletStore
    let publisher: any MessagePublisher
    let names: TopologyNames
    let outlets: Outlets
    let policy: DeliveryPolicy

    package init(
        store: any WorkerDatabase & OutletStore,
        publisher: any MessagePublisher,
        names: TopologyNames,
        outlets: Outlets,
        policy: DeliveryPolicy
    ) {
        self.store = store
        self.publisher = publisher
        self.names = names
        self.outlets = outlets
        self.policy = policy
    }
}

extension WorkerContext {
    func dispatcher(_ context: PipelineContext) -> Dispatcher {
        Dispatcher(outlets: outlets, policy: policy, context: context)
    }

    func settler(_ context: PipelineContext) -> Settler {
        Settler(
            store: store,
            resumes: ResumeSender(
                publisher: publisher,
                names: names,
                time: context.time,
                chance: context.chance,
                logger: context.logger
            ),
            deadLetters: DeadLetterQueue(publisher: publisher, exchange: names.dead, context: context),
            outlets: outlets,
            context: context
        )
    }
}
