class WorkRequest(object):

    def __init__(self, **kwargs):
        self.swagger_types = {
            'status': 'str',
            'operation_type': 'str',
        }
        self.attribute_map = {
            'status': 'status',
            'operation_type': 'operationType',
        }

    @property
    def operation_type(self):
        """
        Gets the operation_type.
        """
        return self._operation_type

    @operation_type.setter
    def operation_type(self, operation_type):
        allowed_values = ["CREATE_SMALL_GADGET", "DELETE_SMALL_GADGET"]
        self._operation_type = operation_type
