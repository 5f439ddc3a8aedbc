class GadgetClientCompositeOperations(object):
    def create_gadget_and_wait_for_state(self, create_gadget_details):
        wait_for_resource_id = operation_result.headers['opc-work-request-id']

    def update_gadget_and_wait_for_state(self, gadget_id, update_gadget_details):
        wait_for_resource_id = operation_result.data.id
