class ChangeGadgetCompartmentDetails(object):

    def __init__(self, **kwargs):
        self.swagger_types = {
            'compartment_id': 'str',
        }
        self.attribute_map = {
            'compartment_id': 'compartmentId',
        }

    @property
    def compartment_id(self):
        """
        **[Required]** Gets the compartment_id.
        """
        return self._compartment_id
